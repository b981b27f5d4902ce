"""Reads a C-CDA document: the narrative that was signed, and its coded entries as facts that point into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from citewell.adapters.parsers.cda import read_narrative
from citewell.adapters.parsers.markup_flow import child_named, descendants_named
from citewell.adapters.parsers.xml_tree import read_tree
from citewell.adapters.records.cda_facts import VISIT_NAMES, Reader, Reading, is_offered, read_people, reader_of
from citewell.adapters.records.cda_narrative import Narrative, Place, Sought, Words, name_words, words_of
from citewell.adapters.records.cda_values import (
    Element,
    attribute,
    began,
    forget,
    moment,
    references_in,
    referred_text,
    section_of,
)
from citewell.adapters.records.imported_facts import ImportedFacts
from citewell.adapters.records.product_names import read_product
from citewell.ingest.media_types import CDA
from citewell.types import ParseLimits, Source
from citewell.types.facts import Allergy, Fact, LabResult, Medication, PartialDate, Professional, RecordOwner, fact_id
from citewell.types.facts_line import line_of

Span = tuple[int, int]
ENTRIES = ("act", "observation", "procedure", "substanceAdministration", "encounter")


@dataclass(frozen=True, slots=True)
class Entry:
    """A coded entry that may be a fact."""

    element: Element
    section: Element
    reader: Reader
    names: tuple[str, ...]


def read_cda(source: Source, limits: ParseLimits) -> ImportedFacts:  # noqa: ARG001
    """A C-CDA document as people read it, and the facts that stand in it as codes."""
    root, note = read_tree(source.data)
    try:
        return _read(root, note, source.name)
    finally:
        forget()


def _read(root: Element, note: str | None, name: str) -> ImportedFacts:
    document, sections = read_narrative(root, note, name, CDA)
    written = moment(attribute(child_named(root, "effectiveTime"), "value"))
    now = written.at if written else datetime.now(UTC)
    narrative = Narrative(document, sections)
    facts: dict[str, Fact] = {}
    spans: dict[str, Span] = {}
    for person in read_people(root):
        place = narrative.person(person.name) if isinstance(person, (RecordOwner, Professional)) else None
        if place is not None and person.id not in facts:
            facts[person.id], spans[person.id] = person, (place.start, place.end)
    entries = list(_entries(root))
    names: dict[Element, set[Words]] = {}
    for entry in entries:
        held = frozenset(word for one in entry.names for word in name_words(one))
        names.setdefault(entry.section, set()).add(held)
    narrative.tell_names(names)
    left_out = 0
    for entry in entries:
        read, place = _fact(entry, narrative, now)
        if read is None or (is_offered(read) and place is None):
            left_out += 1
            continue
        fact = read
        if fact.id in facts and facts[fact.id] != fact:  # real files use one id for several entries
            fact = replace(fact, id=fact_id("cda-again", fact.id, line_of(fact)))
        facts[fact.id] = fact
        if place is not None:
            spans[fact.id] = place.start, place.end
    return ImportedFacts(document, tuple(facts.values()), spans, left_out)


def _entries(root: Element) -> Iterator[Entry]:
    """Every coded entry that may be a fact."""
    for element in descendants_named(root, *ENTRIES):
        reader = reader_of(element)
        section = None if reader is None else section_of(element)
        if reader is not None and section is not None:
            yield Entry(element, section, reader, tuple(reader.names(element)))


def _fact(entry: Entry, narrative: Narrative, now: datetime) -> tuple[Fact | None, Place | None]:
    """An entry as a fact under a name that the narrative has too, and the line that has it.

    People read and sign the narrative. Where a code says something else, a person has to look at it.
    """
    element = entry.element
    if not entry.names:
        return None, None
    fact = entry.reader.read(element, Reading(now, entry.names[0]))
    if fact is None:
        return None, None
    details = words_of(f"{line_of(fact).partition(': ')[2]} {referred_text(element) or ''} {_days(began(element))}")
    sought = Sought(
        section=entry.section,
        names=(),
        details=details,
        references=references_in(
            entry.reader.subject(element), child_named(element, "text"), child_named(element, "value")
        ),
        value=fact.value if isinstance(fact, LabResult) else None,
    )
    for name in entry.names:
        place = narrative.find(replace(sought, names=_written(fact, name)))
        if place is not None and (name not in VISIT_NAMES or _has_day(place, began(element))):
            return entry.reader.read(element, Reading(now, name, place.text)), place
    if isinstance(fact, (Medication, Allergy)) and (
        place := narrative.find_medicine(replace(sought, names=entry.names))
    ):
        return entry.reader.read(element, Reading(now, entry.names[0], place.text)), place
    return replace(fact, is_verified=False), None


def _written(fact: Fact, name: str) -> tuple[str, ...]:
    """What of a name a line has to hold: of a product, what it is made of or its brand."""
    if not isinstance(fact, Medication):
        return (name,)
    product = read_product(name)
    return tuple(one for one in (product.generic_name, product.brand_name) if one)


def _days(at: PartialDate | None) -> str:
    """A day in the ways in which narratives write it."""
    if at is None or len(at.text) < len("2015-03-12"):
        return at.text if at is not None else ""
    day = at.day
    return f"{day:%Y %m %d %Y%m%d %b %B} {day.month} {day.day} {day:%y}"


def _has_day(place: Place, at: PartialDate | None) -> bool:
    """Whether a line has a day, in figures or with the name of the month."""
    if at is None or len(at.text) < len("2015-03-12"):
        return False
    day, words = at.day, words_of(place.text)
    if f"{day:%Y%m%d}" in words:
        return True
    months = {str(day.month), f"{day:%m}", f"{day:%b}".casefold(), f"{day:%B}".casefold()}
    return str(day.year) in words and bool(months & words) and bool({str(day.day), f"{day:%d}"} & words)
