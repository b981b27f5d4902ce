"""A record goes out as a FHIR bundle and comes in again as the same record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.records.fhir_import import read_fhir
from citewell.adapters.records.fhir_ips_write import write_summary
from citewell.adapters.records.fhir_write import write_bundle
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import DamagedFile
from citewell.ports.records import FactCounts
from citewell.types import Source
from citewell.types.facts import REPORTED, Allergy, Fact, Medication
from citewell.types.facts_json import fact_json
from citewell.types.facts_line import line_of
from citewell.vaults.health_record import Record
from tests.contracts.test_facts import ALL as EVERY_KIND
from tests.core.test_fhir_records import ALL, bundle

LETTER = Source(b"Dear Ann, please take the tablets with water. Dr Chen", "letter.txt")


@pytest.fixture
def record(app: App) -> Record:
    made = Record(app)
    made.import_source(Source(bundle(*ALL), "hospital.json"))
    made.import_source(LETTER)
    made.facts.put([fact for fact in EVERY_KIND if fact.kind != "person"], scope=made.scope)
    (allergy,) = (fact for fact in made.facts.all(made.scope, kind="allergy") if fact.origin.document_id)
    made.facts.correct(allergy.id, {"reaction": "hives"}, made.scope)
    (medicine,) = (fact for fact in made.facts.all(made.scope, kind="medication") if fact.origin.document_id)
    made.facts.reject(medicine.id, made.scope)
    return made


@pytest.fixture
def elsewhere(tmp_path: Path, embedder: MiniLM) -> Iterator[Record]:
    with build(Settings(home=tmp_path / "elsewhere", tenant="another-vault")) as app:
        app.__dict__["embedder"] = embedder
        yield Record(app)


def words(record: Record, fact: Fact) -> str | None:
    """What a fact was read from."""
    if fact.origin.document_id is None:
        return None
    text = record._app.library.opened(fact.origin.document_id, record.scope)[1].text
    return text[fact.origin.start : fact.origin.end]


def shape(record: Record) -> list[Any]:
    """All facts with the words they were read from, whatever the ids of their documents are."""
    told = [
        (fact_json(fact) | {"origin": (fact.origin.via, fact.origin.start)}, words(record, fact))
        for fact in record.facts.all(record.scope)
    ]
    return sorted(told, key=lambda pair: str(pair[0]["id"]))


def active(record: Record, kind: str) -> list[Any]:
    """What holds or is taken now."""
    found: list[Any] = record.facts.all(record.scope, kind=kind)
    return [one for one in found if getattr(one, "is_active", None) or getattr(one, "status", None) == "active"]


def test_a_record_comes_in_again_as_it_went_out(record: Record, elsewhere: Record) -> None:
    imported = elsewhere.import_source(Source(record.export(), "record.json"))
    assert imported.change == FactCounts(added=len(record.facts.all(record.scope)))
    assert shape(elsewhere) == shape(record)
    assert [one.name for one in elsewhere._app.entries()] == [one.name for one in record._app.entries()]
    assert [one.reaction for one in active(elsewhere, "allergy") if one.origin.document_id] == ["hives"]
    again = elsewhere.import_source(Source(elsewhere.export(), "record.json"))
    assert again.change == FactCounts(same=len(record.facts.all(record.scope)))
    assert len(elsewhere._app.entries()) == 2


def test_importing_it_where_it_came_from_changes_nothing(record: Record) -> None:
    before = (record.facts.all(record.scope), record._app.entries())
    assert record.import_source(Source(record.export(), "record.json")).change == FactCounts(same=len(before[0]))
    assert (record.facts.all(record.scope), record._app.entries()) == before


def test_what_was_rejected_stays_out(record: Record, elsewhere: Record) -> None:
    elsewhere.import_source(Source(record.export(), "record.json"))
    assert [fact.generic_name for fact in active(elsewhere, "medication")] == ["Warfarin sodium"]


def test_others_can_read_it_by_its_fhir_fields_alone(record: Record, elsewhere: Record) -> None:
    told = json.loads(record.export())
    for one in told["entry"]:
        one["resource"].pop("extension", None)
    del told["identifier"]
    elsewhere.import_source(Source(json.dumps(told).encode(), "plain.json"))
    assert {fact.allergen for fact in active(elsewhere, "allergy")} == {"Penicillin V", "Penicillin"}
    assert {fact.generic_name for fact in active(elsewhere, "medication")} == {"Warfarin sodium"}
    assert [one.value for one in elsewhere.facts.trend("inr", elsewhere.scope)] == [2.4, 9.1, 2.6, 9.1]
    assert len(elsewhere.facts.critical_results(elsewhere.scope)) == 2


def test_a_record_without_its_documents_is_refused_whole(record: Record, elsewhere: Record) -> None:
    told = json.loads(record.export())
    told["entry"] = [one for one in told["entry"] if one["resource"]["resourceType"] != "DocumentReference"]
    with pytest.raises(DamagedFile, match="1 documents are missing"):
        elsewhere.import_source(Source(json.dumps(told).encode(), "record.json"))
    assert (elsewhere.facts.all(elsewhere.scope), elsewhere._app.entries()) == ([], [])


def test_a_changed_document_or_fact_inside_it_is_refused_whole(record: Record, elsewhere: Record) -> None:
    whole = record.export()
    for change in (
        lambda one: one["content"][0]["attachment"].update(data="!!!") if "content" in one else None,
        lambda one: one["extension"][0].update(valueString='{"kind": "allergy"}') if "code" in one else None,
    ):
        told = json.loads(whole)
        for one in told["entry"]:
            change(one["resource"])
        with pytest.raises(DamagedFile, match=r"Entry \d+ \(\w+\) is invalid"):
            elsewhere.import_source(Source(json.dumps(told).encode(), "record.json"))
    assert (elsewhere.facts.all(elsewhere.scope), elsewhere._app.entries()) == ([], [])


def test_an_unconfirmed_fact_is_unconfirmed_on_the_other_side(record: Record, elsewhere: Record) -> None:
    guess = replace(record.facts.all(record.scope, kind="procedure")[0], id="11111111-1111-4111-8111-111111111111")
    record.facts.put([replace(guess, is_verified=False)], scope=record.scope)
    elsewhere.import_source(Source(record.export(), "record.json"))
    assert guess.id in {fact.id for fact in elsewhere.facts.unverified(elsewhere.scope)}


@pytest.mark.parametrize("has_marker", [True, False], ids=["that claims to be ours", "that does not"])
def test_a_file_speaks_for_itself_and_never_for_the_person(record: Record, tmp_path: Path, *, has_marker: bool) -> None:
    scope = record.scope
    told = record.add("allergy", {"allergen": "Latex gloves", "reaction": "anaphylaxis"})
    record.facts.confirm(told.id, scope)
    before = {fact.id: fact for fact in record.facts.all(scope)}
    forged = [
        replace(fact, allergen="nothing", reaction=None, is_active=False)
        for fact in before.values()
        if isinstance(fact, Allergy) and (fact.id == told.id or fact.origin.document_id)
    ]
    papers = [(one, record._app.library.original(one.id, scope)) for one in record._app.entries()]
    injected = Medication(id="x-1", origin=REPORTED, generic_name="Dabigatran")
    bundle = json.loads(write_bundle(scope.tenant, [*forged, injected], papers))
    if not has_marker:
        del bundle["identifier"]
    imported = record.import_source(Source(json.dumps(bundle).encode(), "stranger.json"))

    after = {fact.id: fact for fact in record.facts.all(scope)}
    assert len(forged) == 2
    assert {one: after[one] for one in before} == before
    assert imported.added is not None
    document = imported.added.entry.id
    came = [fact for one, fact in after.items() if one not in before]
    assert sorted(fact.kind for fact in came) == ["allergy", "allergy", "medication"]
    assert {fact.origin.document_id for fact in came} == {document}
    assert {words(record, fact) for fact in came} == {line_of(fact) for fact in came}
    if has_marker:
        assert {fact.id for fact in came} <= {fact.id for fact in record.facts.unverified(scope)}


def test_a_summary_is_a_document_with_its_sections_and_reads_again(record: Record, elsewhere: Record) -> None:
    told = json.loads(record.summary())
    composition, patient, *_ = [entry["resource"] for entry in told["entry"]]
    assert (told["type"], composition["resourceType"], patient["resourceType"]) == (
        "document",
        "Composition",
        "Patient",
    )
    assert composition["type"]["coding"][0]["code"] == "60591-5"
    urls = {entry["fullUrl"] for entry in told["entry"]}
    sections = {section["code"]["coding"][0]["code"]: section for section in composition["section"]}
    assert {"10160-0", "48765-2", "11450-4"} <= set(sections)
    for section in sections.values():
        assert bool(section.get("entry")) != bool(section.get("emptyReason"))
        assert {entry["reference"] for entry in section.get("entry", [])} <= urls
        assert section["text"]["div"].startswith('<div xmlns="http://www.w3.org/1999/xhtml">')
    imported = elsewhere.import_source(Source(record.summary(), "summary.json"))
    assert imported.left_out == 0
    names = {line_of(fact).partition(";")[0] for fact in elsewhere.facts.all(elsewhere.scope, kind="allergy")}
    active = [fact for fact in record.facts.all(record.scope, kind="allergy") if getattr(fact, "is_active", False)]
    assert names == {line_of(fact).partition(";")[0] for fact in active}


def test_the_summary_of_an_empty_record_says_that_nothing_is_told_and_never_that_there_is_none(record: Record) -> None:
    empty = json.loads(write_summary("a-record", []))
    sections = empty["entry"][0]["resource"]["section"]
    assert [section["emptyReason"]["coding"][0]["code"] for section in sections] == ["unavailable"] * 3
    assert all("does not mean that there is none" in section["text"]["div"] for section in sections)


def test_no_known_allergies_stay_so_in_a_summary() -> None:
    told = write_summary("a-record", [replace(known, code="716186003", is_active=False, allergen="No known allergies")
                                      for known in EVERY_KIND if isinstance(known, Allergy)][:1])  # fmt: skip
    (fact,) = (fact for fact in read_fhir(told).facts if isinstance(fact, Allergy))
    assert (fact.code, fact.is_active) == ("716186003", False)
