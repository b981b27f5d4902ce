"""The letters and reports that a FHIR bundle carries as attachments: the words of those that are text."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass

from citewell.adapters.parsers.html import HtmlParser
from citewell.adapters.parsers.text import TextParser
from citewell.adapters.records.bundle import BundleEntry, Json
from citewell.adapters.records.fhir_values import each, moment, name_of
from citewell.types import ParseLimits, Source
from citewell.types.facts_line import shown

HOLDERS = ("DocumentReference", "DiagnosticReport", "Binary")
TEXT, PAGE = ("text/plain", "text/markdown"), ("text/html", "application/xhtml+xml")
NOT_READ = "This attachment ({kind}) is not text, so it was not read. Ask for it as a file and add that."
ELSEWHERE = "This attachment is not in the file. Ask for it as a file and add that."


@dataclass(frozen=True, slots=True)
class Attached:
    """A paper inside a bundle: its title with its day, and its paragraphs."""

    title: str
    words: tuple[tuple[bool, str], ...]
    """Each with whether it is a heading."""


def attached(entry: BundleEntry) -> Iterator[Attached]:
    """The papers of an entry; of one that is no text, that it was not read."""
    resource = entry.resource
    held = [one["attachment"] for one in each(resource, "content") if isinstance(one.get("attachment"), dict)]
    held += each(resource, "presentedForm")
    if entry.kind == "Binary":
        held = [resource]
    for attachment in held:
        name = name_of(resource.get("type")) or name_of(resource.get("code")) or resource.get("description")
        title = str(attachment.get("title") or name or "Attached document")
        day = moment(resource, "date", "effectiveDateTime", "effectivePeriod") or moment(attachment, "creation")
        yield Attached(f"{title}, {shown(day)}" if day else title, tuple(_words(attachment)))


def _words(attachment: Json) -> Iterator[tuple[bool, str]]:
    kind = str(attachment.get("contentType") or "").partition(";")[0].strip().casefold()
    if not attachment.get("data"):
        yield False, ELSEWHERE
        return
    if kind not in (*TEXT, *PAGE):
        yield False, NOT_READ.format(kind=kind or "of no stated kind")
        return
    source = Source(base64.b64decode(str(attachment["data"]), validate=True), "attachment")
    parser = HtmlParser() if kind in PAGE else TextParser()
    document = parser.parse(source, media_type=kind, limits=ParseLimits())
    for block in document.blocks:
        yield block.kind == "heading", " ".join(document.text[block.start : block.end].split())
