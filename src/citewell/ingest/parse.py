"""Reads a file into a Document: sizes are checked, its type is found in its content, its parser is called."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from citewell.errors import CitewellError, DamagedFile, EmptyFile, TooLarge, UnsupportedFile
from citewell.ingest import media_types as sniffed
from citewell.ingest.decode import clean
from citewell.ingest.media_types import sniff
from citewell.orders import suspicious_note, with_roles_shown
from citewell.ports import Parser
from citewell.types import Document, ParseLimits, Source

__all__ = ["kind_of", "parse", "safe_name", "sniff"]

MAX_NAME_CHARACTERS = 120
MAX_TITLE_CHARACTERS = 300

PROMISES = {".doc": "Word"}
"""What endings of names promise, of which programs write text and HTML too."""
ONLY = {".pdf": "PDF", ".docx": "Word"}
"""What endings of names stand for and nothing else: another content is a broken download or the wrong file."""
FOUND = {sniffed.TEXT: "text", sniffed.MARKDOWN: "text", sniffed.HTML: "HTML", sniffed.XML: "XML"}
"""What is told of a file that was promised to be one of those."""
CHECK_IT = "Check that this is the right file."

_SURROGATES_AND_NUL = re.compile("[\0\ud800-\udfff]")


def parse(source: Source, *, parsers: Mapping[str, Parser], limits: ParseLimits) -> Document:
    """One file, one checked Document; anything that goes wrong is an InputError that says what to do."""
    source = Source(source.data, safe_name(source.name))
    media_type = kind_of(source, limits=limits)
    _refuse_broken(source.name, media_type)
    if media_type not in parsers:
        raise UnsupportedFile(f"Files of type {media_type} cannot be read. Save the file as PDF or DOCX and add that.")
    if media_type in (sniffed.MARKDOWN, sniffed.HTML):
        source = replace(source, data=with_roles_shown(source.data))
    try:
        document = parsers[media_type].parse(source, media_type=media_type, limits=limits)
    except CitewellError:
        raise
    except MemoryError as error:
        raise TooLarge("There is not enough memory to read this file. Split it and add the parts.") from error
    except Exception as error:
        raise DamagedFile(
            "The file could not be read because it is damaged or in an unusual format. Open it, save it again, and "
            "add that copy."
        ) from error
    notes = (*_misnamed(source.name, media_type), *document.notes, *suspicious_note(document))
    return checked(replace(document, notes=notes), source.name, limits)


def _misnamed(name: str, media_type: str) -> tuple[str, ...]:
    """A word about a file whose name promises another kind than was found: it may not be what was meant.

    >>> _misnamed("letter.doc", "text/plain")[0].partition(". ")[0], _misnamed("letter.doc", "application/pdf")
    ('The file name says Word but the content is text, so it was read as text', ())
    """
    promised = next((kind for ending, kind in PROMISES.items() if name.lower().endswith(ending)), None)
    found = FOUND.get(media_type)
    if promised is None or found is None:
        return ()
    return (f"The file name says {promised} but the content is {found}, so it was read as {found}. {CHECK_IT}",)


def _refuse_broken(name: str, media_type: str) -> None:
    """Refuse a text that is named as a PDF or Word file, such as what is left of a download.

    >>> _refuse_broken("broken.pdf", "text/plain")
    Traceback (most recent call last):
    citewell.errors.DamagedFile: The file name says PDF but the content is text, so it was not added. ...
    """
    named = next((kind for ending, kind in ONLY.items() if name.lower().endswith(ending)), None)
    if named is not None and media_type in FOUND:
        raise DamagedFile(
            f"The file name says {named} but the content is {FOUND[media_type]}, so it was not added. Get the file "
            "again, or rename it if it is the right one."
        )


def kind_of(source: Source, *, limits: ParseLimits) -> str:
    """The media type of a file that can be read; what shows at a glance to be none is refused."""
    if not source.data.strip(b"\0 \t\r\n\f\v"):
        raise EmptyFile("The file is empty. Check that it was saved or downloaded completely, then add it again.")
    if len(source.data) > limits.max_bytes:
        raise TooLarge(
            f"The file is {_megabytes(len(source.data))} MB and the limit is {_megabytes(limits.max_bytes)} MB. "
            "Split it and add the parts, or raise CITEWELL_MAX_FILE_MB."
        )
    return sniff(source)


def safe_name(name: str) -> str:
    """A file's name that is safe to show and to store: no folders, no control characters, not too long.

    >>> safe_name("../../etc/passwd"), safe_name("C:\\\\notes\\\\plan.docx"), safe_name("\\u202egnp.exe\\x07")
    ('passwd', 'plan.docx', 'gnp.exe')
    >>> safe_name("..")
    'document'
    """
    name = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    name = "".join(letter for letter in name if not unicodedata.category(letter).startswith("C"))
    name = " ".join(unicodedata.normalize("NFC", name).split()).strip(" .")
    if len(name) > MAX_NAME_CHARACTERS:
        suffix = PurePosixPath(name).suffix
        suffix = suffix if len(suffix) <= 10 else ""
        name = name[: MAX_NAME_CHARACTERS - len(suffix) - 1] + "…" + suffix
    return name or "document"


def checked(document: Document, name: str, limits: ParseLimits) -> Document:
    """A document that a parser made, if it is within the limits and its parts agree with each other."""
    if not document.text.strip() or not document.blocks:
        raise EmptyFile("No readable text was found in this file. If it is a scan, add it as PDF with the OCR extra.")
    if len(document.text) > limits.max_characters:
        raise TooLarge(
            f"The file has {len(document.text):,} characters and the limit is {limits.max_characters:,}. Split it "
            "and add the parts, or raise CITEWELL_MAX_CHARACTERS."
        )
    if _SURROGATES_AND_NUL.search(document.text) or not _in_order(document):
        raise DamagedFile(
            "The text extracted from this file is inconsistent, so it was not used. Save the file again and add "
            "that copy."
        )
    title = " ".join(clean(document.title).split())
    if len(title) > MAX_TITLE_CHARACTERS:
        title = title[: MAX_TITLE_CHARACTERS - 1].rstrip() + "…"
    return replace(document, title=title or PurePosixPath(name).stem)


def _in_order(document: Document) -> bool:
    position = 0
    for block in document.blocks:
        if not position <= block.start < block.end <= len(document.text):
            return False
        position = block.end
    return True


def _megabytes(count: int) -> str:
    return f"{count / 1024 / 1024:.1f}"
