"""Reads a C-CDA document: the narrative that was signed, and its coded entries as facts that point into it."""

from __future__ import annotations

import re
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
    named_element,
    references_in,
    referred,
    referred_text,
    says_nothing,
    section_of,
)
from citewell.adapters.records.imported_facts import ImportedFacts
from citewell.adapters.records.product_names import read_product
from citewell.clinical.medicines import substances
from citewell.clinical.written_days import written_days
from citewell.ingest.media_types import CDA
from citewell.types import ParseLimits, Source
from citewell.types.facts import Allergy, Appointment, Fact, LabResult, Medication, PartialDate, RecordOwner, fact_id
from citewell.types.facts_line import line_of

Span = tuple[int, int]
LONGER = 2
"""Words by which another name may be longer than the first one: more are a whole line."""
MAX_LABEL_CHARACTERS = 60
MOST = 8
"""Names and references of one entry that are looked up."""
_REST = re.compile(r"\s[-–]\s|[:;(]|\s(?=\d)")
_AMOUNTS = re.compile(r"(?<=[a-z])\s+(?=\d)", re.IGNORECASE)
"""Where the amounts and the form of a product begin, which many products share."""
ENTRIES = ("act", "observation", "procedure", "substanceAdministration", "encounter")


@dataclass(frozen=True, slots=True)
class Entry:
    """A coded entry that may be a fact."""

    element: Element
    section: Element
    reader: Reader
    names: tuple[str, ...]
    references: tuple[str, ...]
    unsure: frozenset[str] = frozenset()
    """References that entries of other names have too."""


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
        place = narrative.person(person.name)
        if person.id not in facts and (place is not None or isinstance(person, RecordOwner)):
            facts[person.id] = person
            if place is not None:
                spans[person.id] = place.start, place.end
    entries = _checked(list(_entries(root)))
    names: dict[Element, dict[str, Words]] = {}
    for entry in entries:
        for first in entry.names[:1]:
            held = names.setdefault(entry.section, {})
            held[first] = frozenset(word for one in entry.names for word in name_words(one)) | held.get(
                first, frozenset()
            )
    narrative.tell_names(names)
    left_out = 0
    for entry in entries:
        read, place = _fact(entry, narrative, now)
        if read is None or (is_offered(read) and place is None):
            left_out += 1
            continue
        fact = read
        if fact.id in facts and facts[fact.id] != fact:  # real files use one id for several entries
            fact = replace(fact, id=fact_id("cda-again", fact.id, line_of(fact, as_sent=True)))
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
            parts = (reader.subject(element), child_named(element, "text"), child_named(element, "value"))
            names, references = reader.names(element), references_in(*parts)
            yield Entry(element, section, reader, tuple(names[:MOST]), references[:MOST])


def _checked(entries: list[Entry]) -> list[Entry]:
    """Entries without the references that several of them share under different names: those lead to none of them."""
    called: dict[str, set[str]] = {}
    for entry in entries:
        for reference in entry.references:
            called.setdefault(reference, set()).update(entry.names[:1])
    checked = []
    for entry in entries:
        shared = [reference for reference in entry.references if len(called[reference]) > 1]
        words = {referred(entry.element, reference) for reference in shared}
        names = [name for name in entry.names[1:] if name not in words]
        checked.append(replace(entry, names=(*entry.names[:1], *names), unsure=frozenset(shared)))
    return checked


def _fact(entry: Entry, narrative: Narrative, now: datetime) -> tuple[Fact | None, Place | None]:
    """An entry as a fact under a name that the narrative has too, and the line that has it.

    People read and sign the narrative. Where a code says something else, a person has to look at it.
    """
    element, names = entry.element, entry.names
    fact = entry.reader.read(element, Reading(now, names[0])) if names else None
    if fact is None:
        return None, None
    details = words_of(f"{line_of(fact).partition(': ')[2]} {referred_text(element) or ''} {_days(began(element))}")
    value = fact.value if isinstance(fact, LabResult) else None
    sought = Sought(entry.section, (), details, entry.references, value)
    found = []
    also = VISIT_NAMES if isinstance(fact, Appointment) else ()
    for name in dict.fromkeys((*names, *also)):
        place = narrative.find(replace(sought, names=_written(fact, name)))
        if place is not None and _may_be(name, place, fact, began(element)):
            found.append((name, place))
            if place.coverage == 1 or isinstance(fact, (Medication, Allergy)):
                break
    if found:
        name, place = found[0] if len(found[-1][0].split()) > len(found[0][0].split()) + LONGER else found[-1]
        if isinstance(fact, Medication) and name != names[0]:
            return _medicine(entry, replace(place, called=_called(name)), now), place
        return entry.reader.read(element, Reading(now, name, place.text)), place
    if isinstance(fact, (Medication, Allergy)) and (place := narrative.find_medicine(replace(sought, names=names))):
        return _medicine(entry, place, now), place
    return _labelled(entry, fact, sought, narrative, now) or (replace(fact, is_verified=False), None)


def _labelled(
    entry: Entry, fact: Fact, sought: Sought, narrative: Narrative, now: datetime
) -> tuple[Fact | None, Place] | None:
    """An entry under the first words of the line that it refers to; nobody knows whether both mean the same."""
    if isinstance(fact, Allergy) or is_offered(fact):
        return None
    for reference in entry.references:
        target = named_element(entry.element, reference)
        if reference in entry.unsure or target is None or section_of(target) is not entry.section:
            continue
        label = _label(referred(entry.element, reference) or "")
        place = narrative.find_referred(replace(sought, names=(label,), references=(reference,))) if label else None
        if place is not None and isinstance(fact, Medication):
            return _medicine(entry, replace(place, called=_called(label)), now), place
        if place is not None:
            read = entry.reader.read(entry.element, Reading(now, label, place.text))
            return (None if read is None else replace(read, is_verified=False)), place
    return None


def _medicine(entry: Entry, place: Place, now: datetime) -> Fact | None:
    """A medicine that its line calls otherwise than its code; whether both are one, our table of medicines says."""
    read = entry.reader.read(entry.element, Reading(now, entry.names[0], place.text, place.called))
    is_same = place.called is not None and bool(substances(entry.names[0]) & substances(place.called))
    return read if read is None or is_same else replace(read, is_verified=False)


def _called(name: str) -> str | None:
    """The brand of a product, or its name without its amounts."""
    product = read_product(name)
    return _label(product.brand_name or product.generic_name) or None


def _label(words: str) -> str:
    """What stands first in a line, before its amounts and its remarks.

    >>> _label("Lasix - 40mg by mouth once daily"), _label("Cataract Removal (2004/02/01)"), _label("no entry: none")
    ('Lasix', 'Cataract Removal', '')
    """
    label = _REST.split(words, maxsplit=1)[0].strip(" .,;•-–")
    is_name = len(label) > 1 and len(label) <= MAX_LABEL_CHARACTERS and any(letter.isalpha() for letter in label)
    return label if is_name and not says_nothing(words) and not says_nothing(label) else ""


def _written(fact: Fact, name: str) -> tuple[str, ...]:
    """The part of a name that a line must contain: for a product, its substances or its brand."""
    if not isinstance(fact, Medication):
        return (name,)
    product = read_product(name)
    generic = product.generic_name if product.ingredients else _AMOUNTS.split(product.generic_name, maxsplit=1)[0]
    return tuple(part for part in (generic, product.brand_name) if part)


def _days(at: PartialDate | None) -> str:
    """A day in the ways in which narratives write it."""
    if at is None or len(at.text) < len("2015-03-12"):
        return at.text if at is not None else ""
    day = at.day
    return f"{day:%Y %m %d %Y%m%d %b %B} {day.month} {day.day} {day:%y}"


def _has_day(place: Place, at: PartialDate | None) -> bool:
    """Whether a line has a day, in one of the ways in which narratives write it."""
    return at is not None and len(at.text) >= len("2015-03-12") and at.day in written_days(place.text)


def _may_be(name: str, place: Place, fact: Fact, at: PartialDate | None) -> bool:
    """Whether a line may be that of an entry: visits are called alike, so that the day tells them apart."""
    if not isinstance(fact, Appointment):
        return True
    if name in VISIT_NAMES:
        return _has_day(place, at) and words_of(fact.professional or "") <= words_of(place.text)
    return _has_day(place, at) or at is None or not any(written_days(place.text))
