"""Refuses a PDF whose forms draw themselves or each other without end, before pdfium tries to draw them."""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from typing import Any

from citewell.errors import DamagedFile

MAX_LOOKED_AT = 1 << 20
"""Bytes of a form that a first look unpacks."""
MAX_NESTED = 30
"""Real files nest forms two or three deep; pdfium leaves out what stands deeper than about so many."""
MAX_DRAWN = 100_000
"""Forms drawn on one page, each as often as it is drawn: two that draw the next twice are four, and so on."""
ENDLESS = (
    "Page {page} of the PDF repeats parts of itself too many times to be read. Print it to a new PDF with another "
    "program, and add that."
)
_DRAWN = re.compile(
    rb"/([^\0\t\n\f\r ()<>\[\]{}/%]+)(?:[\0\t\n\f\r ]|%[^\r\n]*[\r\n])+Do(?=[\0\t\n\f\r ()<>\[\]{}/%]|$)"
)
_REFERENCE = re.compile(rb"/([^\0\t\n\f\r ()<>\[\]{}/%]+)[\0\t\n\f\r ]+(\d+)[\0\t\n\f\r ]+\d+[\0\t\n\f\r ]+R")
_NUMBER = re.compile(rb"(\d+)[\0\t\n\f\r ]+\d+[\0\t\n\f\r ]+$")
_FORM = re.compile(rb"/Form(?![A-Za-z])")
_ESCAPED = re.compile(rb"#([0-9A-Fa-f]{2})")


Draws = dict[int, list[int]]
"""What each form draws, by the numbers of objects and as often as it does."""
THE_PAGE = 0
"""Stands for the page itself: no object has this number."""


class UnclearForm(Exception):
    """A form cannot be understood at a glance."""


def refuse_endless(data: bytes, *, page: int | None = None) -> None:
    """Raise DamagedFile where a page, or the one that is named (from 1), draws forms without end.

    A file that this cannot read is left to pdfium, which mends more, and to the bounds of the process it runs in.
    """
    if not _looks_endless(data):
        return
    try:
        for number, found in _pages(data, page):
            if _is_endless(_draws(found)):
                raise DamagedFile(ENDLESS.format(page=number))
    except (DamagedFile, MemoryError):
        raise
    except Exception:  # damaged in a way of its own: not for us to judge
        return


def _looks_endless(data: bytes) -> bool:
    """Whether forms may draw each other without end, at a glance: resolving all objects takes a fifth of a reading.

    What makes a stream a form stands in plain bytes before it, never in a packed object. What is not plain looks so.
    """
    draws: Draws = defaultdict(list)
    try:
        for match in _FORM.finditer(data):
            number, drawn = _glance(data, match.start())
            draws[number] += drawn
    except (UnclearForm, zlib.error):
        return True
    return _is_endless(draws)


def _glance(data: bytes, at: int) -> tuple[int, list[int]]:
    """The number of the form that is defined round this place, and of those that it draws, as often as it does."""
    begin, start = data.rfind(b"obj", 0, at), data.find(b"stream", at)
    end = data.find(b"endstream", start)
    number = _NUMBER.search(data[max(0, begin - 24) : begin])
    if number is None or start < 0 or end < 0:
        raise UnclearForm
    head, body = data[begin:start], data[start + len(b"stream") : end].lstrip(b"\r\n")
    if b"/Filter" in head:
        packed = zlib.decompressobj()
        body = packed.decompress(body, MAX_LOOKED_AT)  # what is packed otherwise, or encrypted, raises
        if packed.unconsumed_tail:
            raise UnclearForm
    references = {match[1]: int(match[2]) for match in _REFERENCE.finditer(head)}
    try:
        return int(number[1]), [references[match[1]] for match in _DRAWN.finditer(body)]
    except KeyError:
        raise UnclearForm from None


def _is_endless(draws: Draws) -> bool:
    """Whether something is drawn far too often, or nested too deep, as what stands in a circle is."""
    drawn: dict[int, int] = {}
    under_way: list[tuple[int, bool]] = [(number, False) for number in draws]
    height: dict[int, int] = {}
    above: set[int] = set()
    while under_way:
        number, is_inside_done = under_way.pop()
        inner = draws.get(number, [])
        if is_inside_done:
            above.remove(number)
            drawn[number] = 1 + sum(drawn[one] for one in inner)
            height[number] = 1 + max((height[one] for one in inner), default=0)
            if drawn[number] > MAX_DRAWN or height[number] > MAX_NESTED:
                return True
        elif number in above:
            return True
        elif number not in drawn:
            above.add(number)
            under_way.append((number, True))
            under_way += [(one, False) for one in dict.fromkeys(inner) if one not in drawn]
    return False


def _pages(data: bytes, page: int | None) -> Iterator[tuple[int, Any]]:
    # Here and not above: a file without forms needs none of it.
    from pdfminer.pdfdocument import PDFDocument
    from pdfminer.pdfpage import PDFPage
    from pdfminer.pdfparser import PDFParser

    document = PDFDocument(PDFParser(BytesIO(data)), fallback=False)
    pages = enumerate(PDFPage.create_pages(document), 1)
    return pages if page is None else islice(pages, page - 1, page)


def _draws(page: Any) -> Draws:
    """Which forms a page, its notes and each of those forms draw."""
    from pdfminer.pdftypes import PDFStream, list_value, resolve1
    from pdfminer.psparser import literal_name

    parts = [part for content in page.contents if isinstance(part := resolve1(content), PDFStream)]
    drawn = _named(b" ".join(part.get_data() for part in parts), page.resources)
    for note in list_value(page.annots) if page.annots else ():
        for look in _entries(_entries(note).get("AP")).values():
            drawn += [look] if isinstance(resolve1(look), PDFStream) else [*_entries(look).values()]
    draws: Draws = {THE_PAGE: [one.objid for one in drawn if hasattr(one, "objid")]}
    while drawn:
        form = drawn.pop()
        stream = resolve1(form)
        if getattr(form, "objid", THE_PAGE) in draws or not isinstance(stream, PDFStream):
            continue
        is_picture = literal_name(resolve1(stream.attrs.get("Subtype"))) == "Image"
        inner = [] if is_picture else _named(stream.get_data(), stream.attrs.get("Resources", page.resources))
        draws[form.objid] = [one.objid for one in inner if hasattr(one, "objid")]
        drawn += inner
    return draws


def _named(content: bytes, resources: object) -> list[Any]:
    """References to what a content draws, as often as it does."""
    known = _entries(_entries(resources).get("XObject"))
    return [known[name] for match in _DRAWN.finditer(content) if (name := _name(match[1])) in known]


def _entries(thing: object) -> Mapping[str, Any]:
    """A dictionary of the file, however it is referred to; empty where it is none."""
    from pdfminer.pdftypes import resolve1

    entry = resolve1(thing)
    return entry if isinstance(entry, dict) else {}


def _name(written: bytes) -> str:
    """
    >>> _name(b"Fm1"), _name(b"F#6d1")
    ('Fm1', 'Fm1')
    """
    return _ESCAPED.sub(lambda match: bytes([int(match[1], 16)]), written).decode("utf-8", "backslashreplace")
