"""Reads a FHIR R4 bundle: one readable document, and its facts, each pointing at its own line."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby, pairwise

from citewell.adapters.records.bundle import FACT_EXTENSION, Bundle, BundleEntry, Json, in_entry, read_bundle
from citewell.adapters.records.fhir_attachments import HOLDERS, attached
from citewell.adapters.records.fhir_facts import READERS, read_professional, unknown_categories
from citewell.adapters.records.fhir_other_lines import OTHER_LINES, OTHERS
from citewell.adapters.records.fhir_values import each, name_of, person_name
from citewell.adapters.records.imported_facts import ImportedFacts
from citewell.adapters.records.person_names import NO_NAME, is_another_name
from citewell.errors import DamagedFile
from citewell.ingest.canonical import Canonical
from citewell.types import Document, Metadata, Source
from citewell.types.facts import Fact, LabResult, RecordOwner
from citewell.types.facts_json import fact_json, read_fact
from citewell.types.facts_line import line_of, shown

MEDIA_TYPE = "application/fhir+json"
HEADINGS = {
    "person": "Person",
    "allergy": "Allergies",
    "medication": "Medications",
    "diagnosis": "Conditions",
    "result": "Results",
    "procedure": "Procedures",
    "vaccination": "Vaccinations",
    "symptom": "Symptoms",
    "appointment": "Visits",
    "referral": "Referrals",
    "professional": "People who treat",
}
"""The sections of the document, in this order."""
NAMED_ONLY = frozenset({"Patient", "Practitioner", "PractitionerRole", "Organization", "Location", "Medication"})
"""Entries that are told where others refer to them."""
PLAIN_KINDS = {
    "Claim": "bills",
    "ExplanationOfBenefit": "insurance statements",
    "Coverage": "insurance policies",
    "Communication": "messages",
    "Provenance": "notes on where entries come from",
}
"""What people call entries that are not shown."""

MOST_NAMED = 20
"""Entries that are named in the report; of more, how many there are."""


def read_fhir(data: bytes) -> ImportedFacts:
    """A bundle as a document and its facts; what a broken entry says is left out, and the notes say which and why.

    A broken file, a broken person and a broken record that Citewell wrote import nothing.
    """
    bundle = read_bundle(data)
    _refuse_several_people(bundle)
    refused = list(bundle.refused)
    facts = {fact.id: fact for fact in _facts(bundle, refused)}
    if refused and not facts:
        raise DamagedFile(f"{refused[0]} Nothing was imported.")
    person = next((fact.name for fact in facts.values() if isinstance(fact, RecordOwner)), None)
    title = f"Health record of {person}" if person else "Health record"
    text = Canonical()
    text.heading(title, level=1)
    spans: dict[str, tuple[int, int]] = {}
    for kind, heading in HEADINGS.items():
        _write(text, heading, [fact for fact in facts.values() if fact.kind == kind], spans)
    for kind, heading in OTHERS.items():
        _write_others(text, heading, bundle, kind, refused)
    if not bundle.is_own:
        _write_attached(text, bundle, refused)
    document = Document(
        title=title,
        media_type=MEDIA_TYPE,
        text=text.text,
        blocks=tuple(text.blocks),
        metadata=Metadata(),
        notes=(*_left_out_notes(refused), *_notes(bundle)),
    )
    papers = tuple(_papers(bundle)) if bundle.is_own else None
    return ImportedFacts(document, tuple(facts.values()), spans, left_out=len(refused), papers=papers)


def _refuse_several_people(bundle: Bundle) -> None:
    """Refuse a bundle about several people; each hospital has an id of its own for the same person."""
    patients = {entry.id: entry for entry in bundle.entries if entry.kind == "Patient"}
    known = [*patients.values()]
    for before, other in pairwise(known):
        with in_entry(other):
            people = [entry.resource for entry in (before, other)]
            births = {str(held.get("birthDate")) for held in people}
            names = [person_name(held) or NO_NAME for held in people]
            is_same = len(births) == 1 and births != {"None"} and not is_another_name(*names)
        if not is_same:
            raise DamagedFile(
                "The bundle contains more than one person. Nothing was imported. Export one person at a time."
            )


def _facts(bundle: Bundle, refused: list[str]) -> Iterator[Fact]:
    panels = _panels(bundle)
    for entry in bundle.entries:
        if entry.is_mistaken:
            continue
        fact = None
        with _left_out(entry, bundle, refused), in_entry(entry):
            if (whole := _whole(entry, bundle)) is not None:
                fact = read_fact(json.loads(whole["valueString"]))
            elif (reader := READERS.get(entry.kind)) is not None and (found := reader(entry, bundle)) is not None:
                found = replace(found, panel=panels.get(entry.id)) if isinstance(found, LabResult) else found
                fact = read_fact(fact_json(found))  # a number where words belong is found here, not later
        if fact is not None:
            yield fact
    yield from _professionals(bundle, refused)


@contextmanager
def _left_out(entry: BundleEntry, bundle: Bundle, refused: list[str]) -> Iterator[None]:
    """Note an entry that is broken; without the person nobody knows whose record it is, and then nothing is read."""
    try:
        yield
    except DamagedFile as error:
        if bundle.is_own or entry.kind == "Patient":
            raise DamagedFile(f"{error} Nothing was imported.") from error
        refused.append(str(error))


def _left_out_notes(refused: Sequence[str]) -> Iterator[str]:
    """What of the file is not in the record because it is broken."""
    if refused:
        many = f"{len(refused)} entries are invalid and were" if len(refused) > 1 else "1 entry is invalid and was"
        yield f"{many} not imported, so this record is incomplete:"
        yield from refused[:MOST_NAMED]
    if len(refused) > MOST_NAMED:
        more = len(refused) - MOST_NAMED
        yield f"{more} more invalid {'entries are' if more > 1 else 'entry is'} not listed here."


def _panels(bundle: Bundle) -> dict[str, str]:
    """What the report that holds a result is called, by the id of the result."""
    return {
        result.id: name
        for report in bundle.of("DiagnosticReport")
        if isinstance(report.resource.get("code"), Mapping) and (name := name_of(report.resource["code"]))
        for reference in each(report.resource, "result")
        if (result := bundle.referred(reference)) is not None
    }


def _whole(entry: BundleEntry, bundle: Bundle) -> Json | None:
    """The fact itself, which a record that Citewell wrote carries; in any other file it says nothing."""
    carried = entry.resource.get("extension", []) if bundle.is_own else []
    return next((one for one in carried if one.get("url") == FACT_EXTENSION), None)


def _papers(bundle: Bundle) -> Iterator[tuple[str, Source]]:
    """The documents inside a bundle that Citewell wrote, by the ids that its facts know them by."""
    for entry in bundle.of("DocumentReference"):
        with in_entry(entry):
            held = entry.resource["content"][0]["attachment"]
            yield entry.id, Source(base64.b64decode(held["data"], validate=True), str(held["title"]))


def _professionals(bundle: Bundle, refused: list[str]) -> Iterator[Fact]:
    """Everybody with a name; the same name twice is the same person."""
    for entry in bundle.of("Practitioner"):
        people = list[Fact]()
        with _left_out(entry, bundle, refused), in_entry(entry):
            if _whole(entry, bundle) is None:
                people += (read_fact(fact_json(fact)) for fact in read_professional(entry))
        yield from people


def _write(text: Canonical, heading: str, facts: Sequence[Fact], spans: dict[str, tuple[int, int]]) -> None:
    """One section; results are grouped by the day on which they were taken."""
    if not facts:
        return
    text.heading(heading, level=2)

    def day(fact: Fact) -> str:
        return shown(fact.collected) if isinstance(fact, LabResult) else ""

    def when(fact: Fact) -> float:
        return fact.collected.at.timestamp() if isinstance(fact, LabResult) and fact.collected else 0

    for title, group in groupby(sorted(facts, key=when, reverse=True), key=day):
        text.heading(title, level=3)
        for fact in group:
            span = text.add("list_item", " ".join(line_of(fact).split()))
            assert span is not None
            spans[fact.id] = span


def _write_others(text: Canonical, heading: str, bundle: Bundle, kind: str, refused: list[str]) -> None:
    """What is no fact but belongs to the record; the same line once."""
    lines = dict[str, None]()
    for entry in bundle.of(kind):
        with _left_out(entry, bundle, refused), in_entry(entry):
            line = " ".join(OTHER_LINES[entry.kind](entry.resource, bundle).split())
            lines |= {line: None} if line else {}
    if lines and text.section[-1:] != (heading,):
        text.heading(heading, level=2)
    for line in lines:
        text.add("list_item", line)


def _write_attached(text: Canonical, bundle: Bundle, refused: list[str]) -> None:
    """The words of letters and reports that a bundle carries; of a file that is no text, its name."""
    for entry in bundle.of(*HOLDERS):
        with _left_out(entry, bundle, refused), in_entry(entry):
            for paper in attached(entry):
                text.heading(paper.title, level=2)
                for is_heading, words in paper.words:
                    text.heading(words, level=3) if is_heading else text.add("paragraph", words)


def _notes(bundle: Bundle) -> Iterator[str]:
    """What of the bundle is not shown."""
    unknown = Counter(code for entry in bundle.of("Observation") for code in unknown_categories(entry.resource))
    if unknown:
        codes = ", ".join(f"“{code}” ({count})" for code, count in sorted(unknown.items()))
        yield (
            f"Some results were imported without a category because its code is not on FHIR's preferred list: {codes}."
        )
    if outside := sum(bundle.is_outside(entry) for entry in bundle.entries if entry.kind in READERS):
        entries = "1 entry refers" if outside == 1 else f"{outside} entries refer"
        yield f"{entries} to something that is not in the file, so some names may be missing."
    told = {*READERS, *OTHERS, *NAMED_ONLY, *HOLDERS} - {"ExplanationOfBenefit"}
    left_out = Counter(entry.kind for entry in bundle.entries if entry.kind not in told)
    if left_out:
        kinds = ", ".join(f"{PLAIN_KINDS.get(kind, kind)} ({count})" for kind, count in sorted(left_out.items()))
        yield f"Kept but not shown: {kinds}."
    if mistaken := sum(entry.is_mistaken for entry in bundle.entries):
        yield f"{mistaken} entries were left out because the record itself marks them as an error or refuted."
