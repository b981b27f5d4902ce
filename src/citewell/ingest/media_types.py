"""Says what a file is by looking inside it; its name is a hint at most."""

from __future__ import annotations

import re

from citewell.errors import EncryptedFile, UnsupportedFile
from citewell.ingest.decode import decode
from citewell.types import Source

PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
JATS = "application/jats+xml"
CDA = "application/cda+xml"
FHIR = "application/fhir+json"
XML = "application/xml"
HTML = "text/html"
MARKDOWN = "text/markdown"
TEXT = "text/plain"

SAVE_AS_DOCUMENT = "Save it as .docx or PDF and add that."
EXPORT_TEXT = "Export its text as PDF, DOCX, HTML or plain text and add that."
UNPACK = "Unpack it and add the files inside."
READ_IMAGE = "Save it as a PDF and add that. Scanned pages are read if the OCR extra is installed."

SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "a PNG image", READ_IMAGE),
    (0, b"\xff\xd8\xff", "a JPEG image", READ_IMAGE),
    (0, b"GIF8", "a GIF image", READ_IMAGE),
    (0, b"II*\0", "a TIFF image", READ_IMAGE),
    (0, b"MM\0*", "a TIFF image", READ_IMAGE),
    (8, b"WEBP", "a WebP image", READ_IMAGE),
    (4, b"ftyphei", "a HEIC image", READ_IMAGE),
    (128, b"DICM", "a DICOM image", EXPORT_TEXT),
    (8, b"WAVE", "a sound recording", EXPORT_TEXT),
    (0, b"ID3", "a sound recording", EXPORT_TEXT),
    (0, b"OggS", "a sound recording", EXPORT_TEXT),
    (0, b"fLaC", "a sound recording", EXPORT_TEXT),
    (4, b"ftyp", "a video or sound recording", EXPORT_TEXT),
    (0, b"\x1aE\xdf\xa3", "a video", EXPORT_TEXT),
    (0, b"MZ", "a Windows program", "Only documents can be added."),
    (0, b"\x7fELF", "a program", "Only documents can be added."),
    (0, b"\xcf\xfa\xed\xfe", "a program", "Only documents can be added."),
    (0, b"\xca\xfe\xba\xbe", "a program", "Only documents can be added."),
    (0, b"SQLite format 3\0", "a database", EXPORT_TEXT),
    (0, b"\x1f\x8b", "a gzip archive", UNPACK),
    (0, b"BZh", "a bzip2 archive", UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", UNPACK),
    (0, b"Rar!", "a RAR archive", UNPACK),
    (0, b"\xfd7zXZ\0", "an xz archive", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive", UNPACK),
    (257, b"ustar", "a tar archive", UNPACK),
)
"""Where a signature stands, the signature, what it shows, and what a person can do about it."""

TEXT_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"{\\rtf", "a rich text (.rtf) file", SAVE_AS_DOCUMENT),
    (b"%!PS", "a PostScript file", "Convert it to PDF and add that."),
)

ZIP_CONTENTS: tuple[tuple[bytes, str, str], ...] = (
    (b"xl/workbook", "an Excel workbook", "Save the sheets that matter as PDF and add that."),
    (b"ppt/presentation", "a PowerPoint presentation", "Save it as PDF and add that."),
    (b"application/epub+zip", "an EPUB book", "Convert it to PDF or HTML and add that."),
    (b"application/vnd.oasis.opendocument", "an OpenDocument file", SAVE_AS_DOCUMENT),
    (b"Index/Document.iwa", "an Apple Pages document", SAVE_AS_DOCUMENT),
)

OLE_SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OLE_STREAMS: tuple[tuple[str, str], ...] = (
    ("WordDocument", "an old Word (.doc) file"),
    ("Workbook", "an old Excel (.xls) file"),
    ("PowerPoint Document", "an old PowerPoint (.ppt) file"),
    ("__substg1.0_", "an Outlook message"),
)

JATS_ROOTS = frozenset(
    "article book book-part book-part-wrapper book-app front-matter-part collection sub-article pmc-articleset".split()
)
JATS_SIGNS = re.compile(
    r"<(?:\w+:)?(?:front|article-meta|journal-meta|book-meta|collection-meta|book-part-meta|book-body|sec|body|back)[\s>/]"
)
HTML_TAGS = frozenset(
    """html head body div p span h1 h2 h3 h4 h5 h6 table ul ol dl article section main header footer nav aside title
    meta link style script br hr img a b i em strong center font form pre blockquote details""".split()
)
MARKDOWN_SIGNS = (
    re.compile(r"^#{1,6}[ \t]+\S", re.MULTILINE),
    re.compile(r"^(?:```|~~~)", re.MULTILINE),
    re.compile(r"\[[^\]\n]{1,200}\]\([^)\s]{1,300}\)"),
    re.compile(r"^[ \t]*[-*+][ \t]+\S", re.MULTILINE),
    re.compile(r"(?:\*\*|__)[^\s*_][^*_\n]{0,200}(?:\*\*|__)"),
    re.compile(r"^\|?[ \t]*:?-{3,}:?[ \t]*\|", re.MULTILINE),
)
"""Headings, fences, links, lists, strong words, table rules."""
_PLAIN_ITEM = re.compile(r"^[ \t]*[•·▪◦‣●○・][ \t]+\S", re.MULTILINE)
"""An item of a list as Markdown does not write it: a text of such lists is plain, whatever else it holds."""

_HEAD_CHARACTERS = 256 * 1024
_BUNDLE = re.compile(r'"resourceType"\s*:\s*"Bundle"')
_RESOURCE = re.compile(
    r'"resourceType"\s*:\s*"(?:Patient|Observation|Condition|AllergyIntolerance|Medication(?:Request|Statement|Order)|'
    r'Immunization|Procedure|Encounter|Appointment|ServiceRequest|DiagnosticReport|CarePlan|Goal|ImagingStudy)"'
)
"""A part of a record on its own."""
_DOCTYPE_NAME = re.compile(r"\s*([\w.:-]+)")
_ROOT = re.compile(r"<(?:([\w.-]+):)?([A-Za-z_][\w.-]*)")


def sniff(source: Source) -> str:
    """The media type of a file, from its content.

    >>> sniff(Source(b"%PDF-1.7 ...", "letter.docx"))
    'application/pdf'
    >>> sniff(Source(b"<!DOCTYPE html><p>Rest.", "leaflet.txt"))
    'text/html'
    """
    data = source.data
    at = data.find(b"%PDF-", 0, 1024)
    if at == 0 or (at > 0 and b"endobj" in data):
        return PDF
    if is_zip(data):
        return _sniff_zip(data)
    if data.startswith(OLE_SIGNATURE):
        _refuse_ole(data)
    _refuse_signatures(data)
    return _sniff_text(decode(data)[0], source.name.lower())


def is_zip(data: bytes) -> bool:
    """Whether bytes are a zip, of whatever content."""
    return data.startswith((b"PK\x03\x04", b"PK\x05\x06"))


def is_archive(data: bytes) -> bool:
    """Whether bytes are a zip of files, and no document that is made as one."""
    return is_zip(data) and not any(sign in data for sign in (b"word/document", *(sign for sign, _, _ in ZIP_CONTENTS)))


def is_apple_health(data: bytes) -> bool:
    """Whether bytes are the export of Apple Health, which opens with a description of itself."""
    return data[:200].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") and b"<HealthData" in data[:_HEAD_CHARACTERS]


def _refuse_signatures(data: bytes) -> None:
    head = data[:4096]
    # A short signature such as MZ may also be how an ordinary text begins.
    is_text = _is_utf8(head) and min(head, default=9) >= 9
    for offset, signature, looks_like, advice in SIGNATURES:
        if not is_text and data.startswith(signature, offset):
            raise UnsupportedFile(f"The file looks like {looks_like}, which cannot be read. {advice}")
    for signature, looks_like, advice in TEXT_SIGNATURES:
        if data.startswith(signature):
            raise UnsupportedFile(f"The file looks like {looks_like}, which cannot be read. {advice}")


def _is_utf8(head: bytes) -> bool:
    """Whether bytes are text, but for a last character that may be cut."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and error.reason == "unexpected end of data"
    return True


def _sniff_zip(data: bytes) -> str:
    # Names inside a zip are not compressed, so nothing needs to be unpacked or trusted to see them.
    if b"word/document" in data:
        return DOCX
    for sign, looks_like, advice in ZIP_CONTENTS:
        if sign in data:
            raise UnsupportedFile(f"The file looks like {looks_like}, which cannot be read. {advice}")
    raise UnsupportedFile(f"The file looks like a zip archive, which cannot be read. {UNPACK}")


def _refuse_ole(data: bytes) -> None:
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise EncryptedFile("The Office file is password-protected. Save it without a password and add that.")
    for stream, looks_like in OLE_STREAMS:
        if stream.encode("utf-16-le") in data:
            raise UnsupportedFile(f"The file looks like {looks_like}, which cannot be read. {SAVE_AS_DOCUMENT}")
    raise UnsupportedFile(f"The file looks like an old Office file, which cannot be read. {SAVE_AS_DOCUMENT}")


def _sniff_text(text: str, name: str) -> str:
    position, doctype = _skip_prologue(text)
    root = _ROOT.match(text, position)
    tag = root.group(2) if root else ""
    if doctype == "html" or tag.lower() == "html":
        return HTML
    if tag == "ClinicalDocument":
        return CDA
    is_bundle = '"entry"' in text and _BUNDLE.search(text)
    if text.lstrip("\ufeff \t\r\n").startswith("{") and (is_bundle or _RESOURCE.search(text)):
        return FHIR
    if tag in JATS_ROOTS and JATS_SIGNS.search(text, position, position + _HEAD_CHARACTERS):
        return JATS
    if text.lstrip("\ufeff \t\r\n").startswith("<?xml") or (doctype and tag.lower() not in HTML_TAGS):
        return XML
    return _sniff_loose_text(text, root, is_named_markdown=name.endswith((".md", ".markdown")))


def _sniff_loose_text(text: str, root: re.Match[str] | None, *, is_named_markdown: bool) -> str:
    """A text that does not say what it is: Markdown may open with a tag, HTML may lack its root."""
    if root and not is_named_markdown:
        if root.group(2).lower() in HTML_TAGS:
            return HTML
        if _is_closed(text, root):
            return XML
    if re.search(r"<html[\s>]", text[:2048], re.IGNORECASE):
        return HTML
    return MARKDOWN if is_named_markdown or _looks_like_markdown(text[:_HEAD_CHARACTERS]) else TEXT


def _skip_prologue(text: str) -> tuple[int, str]:
    """Where the first element may stand, and the lower-case name in the DOCTYPE."""
    position, doctype = 0, ""
    while True:
        while position < len(text) and (text[position].isspace() or text[position] == "\ufeff"):
            position += 1
        if text.startswith("<?", position):
            end = text.find("?>", position)
            position = end + 2
        elif text.startswith("<!--", position):
            end = text.find("-->", position)
            position = end + 3
        elif text[position : position + 9].upper() == "<!DOCTYPE":
            name = _DOCTYPE_NAME.match(text, position + 9)
            doctype = name.group(1).lower() if name else ""
            end = _end_of_doctype(text, position)
            position = end + 1
        else:
            return position, doctype
        if end < 0:
            return len(text), doctype


def _end_of_doctype(text: str, position: int) -> int:
    close = text.find(">", position)
    subset = text.find("[", position, close if close >= 0 else len(text))
    if subset < 0:
        return close
    end = re.compile(r"\]\s*>").search(text, subset)
    return end.end() - 1 if end else -1


def _is_closed(text: str, root: re.Match[str]) -> bool:
    """Whether the text also ends like XML: its first element is the one that closes it."""
    return text.rstrip().endswith(f"</{root.group()[1:]}>")


def _looks_like_markdown(text: str) -> bool:
    """At least two kinds of mark, one of them a heading, a fence, a link or a table; or two headings."""
    counts = [len(sign.findall(text)) for sign in MARKDOWN_SIGNS]
    headings, fences, links, items, _, rules = counts
    if len(_PLAIN_ITEM.findall(text)) > max(items, headings + 1) or (headings < 2 and _PLAIN_ITEM.search(text)):
        return False
    kinds = sum(count > 0 for count in counts)
    return headings >= 2 or (kinds >= 2 and bool(headings or fences >= 2 or links or rules))
