"""C-CDA clinical documents: the facts of the header as lines, and the narrative that was signed, section by section."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from lxml import etree

from citewell.adapters.parsers.dates import read_date
from citewell.adapters.parsers.markup_flow import (
    BlockReader,
    LineReader,
    OpenLists,
    SectionedText,
    child_named,
    children_named,
    descendants_named,
    local_name,
    read_line,
    walk,
)
from citewell.adapters.parsers.markup_tables import is_regular, markup_lines
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.types import Document, Metadata, ParseLimits, Source

HEADER = {
    "recordTarget": "Patient record",
    "author": "Author",
    "dataEnterer": "Data entered by",
    "informant": "Informant",
    "custodian": "Custodian",
    "informationRecipient": "Recipient",
    "legalAuthenticator": "Legally authenticated by",
    "authenticator": "Authenticated by",
    "participant": "Participant",
    "documentationOf": "Documents the service",
    "authorization": "Authorisation",
    "componentOf": "Encounter",
}
"""Parts of the header, with the words that name them in the text."""

LABELS = {
    "birthTime": "born",
    "administrativeGenderCode": "sex",
    "maritalStatusCode": "marital status",
    "religiousAffiliationCode": "religion",
    "raceCode": "race",
    "ethnicGroupCode": "ethnic group",
    "languageCode": "language",
    "birthplace": "born in",
    "time": "on",
    "low": "from",
    "high": "to",
    "guardian": "guardian",
}
INLINE = frozenset("content sub sup linkHtml footnoteRef".split())


class CdaParser:
    """Reads C-CDA documents as plain documents; coded entries are left to the record importer."""

    def parse(self, source: Source, *, media_type: str, limits: ParseLimits) -> Document:  # noqa: ARG002
        root, note = read_tree(source.data)
        return read_narrative(root, note, source.name, media_type)[0]


def read_narrative(
    root: etree._Element, note: str | None, name: str, media_type: str
) -> tuple[Document, dict[etree._Element, range]]:
    """The narrative of a document, and which of its blocks each section wrote, those of its inner sections included."""
    title = read_line(child_named(root, "title"), _NarrativeLine()) or PurePosixPath(name).stem
    flow = SectionedText()
    flow.heading(title, level=1)
    _write_header(root, flow)
    reader = _NarrativeReader(flow)
    for body in descendants_named(root, "structuredBody"):
        walk(body, reader)
        reader.flush()
    notes = [note] if note else []
    if any(True for _ in descendants_named(root, "nonXMLBody")):
        notes.append("The document contains an embedded file that was not read. Export that file and add it as well.")
    document = Document(
        title=title,
        media_type=media_type,
        text=flow.text,
        blocks=tuple(flow.blocks),
        metadata=_metadata(root),
        notes=tuple(notes),
    )
    return document, reader.sections


class _NarrativeLine(LineReader):
    def is_apart(self, name: str) -> bool:
        return name not in INLINE


class _HeaderLine(LineReader):
    """Reads a part of the header: names and addresses, and the codes and times that stand in attributes."""

    skipped = frozenset("templateId typeId realmCode confidentialityCode signatureCode sdtcSignatureText".split())

    def is_apart(self, name: str) -> bool:
        return name not in INLINE

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        text = _attribute_text(element, name)
        if not super().enter(element):
            return False
        label = LABELS.get(name)
        if text:
            self.write(f"{'; ' if self.inline.last else ''}{label} {text}" if label else text)
        elif name in ("guardian", "birthplace"):
            self.write(f"; {label}" if self.inline.last else label)
        return True

    def write(self, text: str | None) -> None:
        # White space between elements is layout; the elements stand apart by themselves.
        super().write((text or "").strip())


class _ContactLine(_HeaderLine):
    """What the header says of a patient besides the person."""

    skipped = _HeaderLine.skipped | {"patient"}


def _attribute_text(element: etree._Element, name: str) -> str:
    if name in ("time", "birthTime", "effectiveTime", "low", "high"):
        return _moment(element.get("value") or "")
    if name == "telecom":
        return element.get("value") or ""
    parent = element.getparent()
    if name == "id" and parent is not None and local_name(parent) == "patientRole":
        return f"identifier {element.get('extension')}" if element.get("extension") else ""
    return element.get("displayName") or (element.get("code") or "" if name == "languageCode" else "")


def _moment(value: str) -> str:
    """An HL7 time as people write it.

    >>> _moment("19750501"), _moment("201308151030-0800"), _moment("2013")
    ('1975-05-01', '2013-08-15 10:30', '2013')
    """
    match = re.match(r"(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?", value)
    if not match:
        return ""
    year, month, day, hour, minute = match.groups()
    text = "-".join(part for part in (year, month, day) if part)
    return f"{text} {hour}:{minute}" if hour and minute else text


def _write_header(root: etree._Element, flow: SectionedText) -> None:
    written = _moment(_value(child_named(root, "effectiveTime")))
    if written:
        flow.add("paragraph", f"Document date: {written}")
    for patient in descendants_named(root, "patient"):
        flow.add("paragraph", f"Patient: {read_line(patient, _HeaderLine())}")
    for part in root:
        label = HEADER.get(local_name(part))
        text = read_line(part, _ContactLine()) if label else ""
        if text:
            flow.add("paragraph", f"{label}: {text}")


def _value(element: etree._Element | None) -> str:
    return "" if element is None else element.get("value") or ""


def _metadata(root: etree._Element) -> Metadata:
    language = child_named(root, "languageCode")
    identifier = child_named(root, "id")
    custodian = next((read_line(part, _NarrativeLine()) for part in _organisations(root)), None)
    root_id, extension = (
        (identifier.get(name) or "" for name in ("root", "extension")) if identifier is not None else ("", "")
    )
    return Metadata(
        language=language.get("code") if language is not None else None,
        publisher=custodian or None,
        published=read_date(_moment(_value(child_named(root, "effectiveTime")))[:10]),
        identifiers=(("cda", " ".join(part for part in (root_id, extension) if part)),) if root_id else (),
    )


def _organisations(root: etree._Element) -> list[etree._Element]:
    custodian = child_named(root, "custodian")
    return [] if custodian is None else list(descendants_named(custodian, "name"))


class _NarrativeReader(BlockReader):
    """Cuts the sections of the body into blocks; coded entries are not read."""

    skipped = frozenset("entry templateId id code author informant subject confidentialityCode languageCode".split())

    def __init__(self, flow: SectionedText) -> None:
        super().__init__(flow)
        self._level = 1
        self._lists = OpenLists()
        self.sections: dict[etree._Element, range] = {}
        """Which blocks each section wrote."""

    def is_apart(self, name: str) -> bool:
        return name not in INLINE

    def enter(self, element: etree._Element) -> bool:
        name = local_name(element)
        parent = element.getparent()
        outer = local_name(parent) if parent is not None else ""
        if name in self.skipped or (name == "title" and outer == "section" and not self.in_script):
            return False
        if self.in_script or name in INLINE:
            return super().enter(element)
        self.flush()
        if name == "section":
            self._level += 1
            self.sections[element] = range(len(self.flow.blocks), len(self.flow.blocks))
            title = read_line(child_named(element, "title"), _NarrativeLine())
            self.flow.heading(title, level=self._level)
        elif name == "table" and is_regular(element):
            self._write_table(element)
            return False
        elif name == "list":
            self._lists.open(1 if element.get("listType") == "ordered" else None)
        elif name == "item":
            self.open("list_item")
            self.mark(self._lists.next_marker())
        return True

    def leave(self, element: etree._Element) -> None:
        name = local_name(element)
        if self.in_script or name in INLINE:
            super().leave(element)
            return
        self.flush()
        if name == "section":
            self.sections[element] = range(self.sections[element].start, len(self.flow.blocks))
            self.flow.close(self._level)
            self._level -= 1
        elif name == "list":
            self._lists.close()
        elif name == "item":
            self.close()

    def _write_table(self, table: etree._Element) -> None:
        for caption in children_named(table, "caption"):
            self.flow.add("caption", read_line(caption, _NarrativeLine()))
        for line in markup_lines(table, lambda cell: read_line(cell, _NarrativeLine())):
            self.flow.add("table_row", line)
