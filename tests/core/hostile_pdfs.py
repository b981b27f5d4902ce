"""PDF files written by hand whose forms draw each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FIRST = 4
"""The object that is the first form."""


def pdf_of(objects: Sequence[bytes]) -> bytes:
    """A file of these objects, numbered from 1; the first is the catalogue."""
    data, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%btrailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
    return data + end % (len(objects) + 1, table, len(objects) + 1, len(data))


def stream_of(attributes: bytes, content: bytes) -> bytes:
    return b"<<%b/Length %d>>stream\n%b\nendstream" % (attributes, len(content), content)


def forms_pdf(
    draws: Mapping[int, Sequence[int]], *, subtype: bytes = b"/Form", words: bytes = b"", lists: Sequence[int] = ()
) -> bytes:
    """A page that draws form 0; each form draws others, as often as they are named, and lists more without drawing."""

    def resources(numbers: Sequence[int]) -> bytes:
        named = b"".join(b"/X%d %d 0 R" % (one, FIRST + one) for one in sorted({*numbers, *lists}))
        font = b"/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"
        return b"/Resources<</XObject<<%b>>%b>>" % (named, font)

    def content(numbers: Sequence[int]) -> bytes:
        text = b"BT /F 12 Tf 10 100 Td (%b) Tj ET " % words if words else b""
        return text + b"".join(b"/X%d Do " % one for one in numbers)

    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]%b/Contents %d 0 R>>"
    attributes = b"/Type/XObject/Subtype%b/BBox[0 0 200 200]" % subtype
    forms = [stream_of(attributes + resources(inner), content(inner)) for _, inner in sorted(draws.items())]
    catalogue, pages = b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
    last = stream_of(b"", b"/X0 Do")
    return pdf_of([catalogue, pages, page % (resources([0]), FIRST + len(forms)), *forms, last])


ITSELF = forms_pdf({0: [0, 0]})
EACH_OTHER = forms_pdf({0: [1, 1], 1: [0, 0]})
DOUBLING = forms_pdf({**{number: [number + 1, number + 1] for number in range(25)}, 25: []}, words=b"Words")
CHAIN = forms_pdf({**{number: [number + 1] for number in range(60)}, 60: []}, words=b"Words")
UNSEEN = forms_pdf({0: [0, 0]}, subtype=b"/F#6frm")
"""A form that does not look like one at a glance: what holds is the process alone."""
HARMLESS = forms_pdf({0: [1], 1: [2, 2], 2: []}, words=b"Take one tablet daily", lists=(0, 1, 2))
"""Three deep, and every form lists all of them, as files with shared resources do."""
