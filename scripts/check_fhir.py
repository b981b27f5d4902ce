"""Counts what stands in FHIR bundles, reading the JSON on its own, and holds it against what Citewell imports.

    python scripts/check_fhir.py ../shared/data/fhir/*.json

Codes, values, units, dates, statuses and prescribers are compared as well.
Every bundle goes into a new vault of its own, twice; the second time nothing may change.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from citewell.config import Settings
from citewell.types.facts import Diagnosis, Fact, LabResult, Medication
from citewell.vaults.vaults import Vaults

KINDS = {
    "MedicationRequest": "medication",
    "AllergyIntolerance": "allergy",
    "Condition": "diagnosis",
    "Observation": "result",
    "Procedure": "procedure",
}
PASSPHRASE = "only for this check"


def counted(path: Path) -> Counter[str]:
    """How many resources of each kind a bundle holds."""
    entries = json.loads(path.read_text("utf-8"))["entry"]
    return Counter(
        KINDS[one["resource"]["resourceType"]] for one in entries if one["resource"]["resourceType"] in KINDS
    )


def said(path: Path) -> Counter[tuple[object, ...]]:
    """What a bundle says of results, conditions and medicines, by its own fields."""
    entries = {one["fullUrl"]: one["resource"] for one in json.loads(path.read_text("utf-8"))["entry"]}
    told: Counter[tuple[object, ...]] = Counter()
    for one in entries.values():
        if one["resourceType"] == "Observation":
            quantity = one.get("valueQuantity", {})
            words = one.get("valueCodeableConcept", {}).get("text")
            parts = tuple(part["valueQuantity"]["value"] for part in one.get("component", []))
            value = (quantity.get("value"), quantity.get("unit"), words, parts)
            told["result", one["code"]["coding"][0]["code"], one["effectiveDateTime"], *value] += 1
        elif one["resourceType"] == "Condition":
            status = one["clinicalStatus"]["coding"][0]["code"]
            told[
                "diagnosis",
                one["code"]["coding"][0]["code"],
                status,
                one["onsetDateTime"],
                one.get("abatementDateTime"),
            ] += 1
        elif one["resourceType"] == "MedicationRequest":
            name = entries[one["requester"]["reference"]]["name"][0]
            doctor = " ".join([*name["prefix"], *name["given"], name["family"]])
            code = one["medicationCodeableConcept"]["coding"][0]["code"]
            told["medication", code, one["status"], one["authoredOn"], doctor] += 1
    return told


def known(facts: list[Fact]) -> Counter[tuple[object, ...]]:
    """The same of the facts that Citewell has."""
    told: Counter[tuple[object, ...]] = Counter()
    for fact in facts:
        if isinstance(fact, LabResult):
            value = (fact.value, fact.unit, fact.value_text, tuple(part.value for part in fact.parts))
            told["result", fact.code, fact.collected and fact.collected.text, *value] += 1
        elif isinstance(fact, Diagnosis):
            ended = fact.ended and fact.ended.text
            told["diagnosis", fact.code, fact.status.value, fact.dated and fact.dated.text, ended] += 1
        elif isinstance(fact, Medication):
            told["medication", fact.code, fact.status.value, fact.start and fact.start.text, fact.prescriber] += 1
    return told


def imported(path: Path, vaults: Vaults) -> tuple[list[Fact], bool]:
    """The facts that Citewell has after two imports, and whether the second changed anything."""
    header, _phrase = vaults.create(path.stem[:40], PASSPHRASE)
    with vaults.open(header.id, PASSPHRASE) as profile:
        profile.record.import_file(path)
        before = profile.record.facts.all(profile.record.scope)
        again = profile.record.import_file(path)
        facts = profile.record.facts.all(profile.record.scope)
        is_same = (
            facts == before and again.change.same == len(facts) and again.added is not None and again.added.was_there
        )
    return facts, is_same


def main(paths: list[Path]) -> int:
    """Compare bundle by bundle; the number of those that differ."""
    wrong = 0
    with tempfile.TemporaryDirectory() as home:
        vaults = Vaults(Settings(home=Path(home)))
        for path in paths:
            expected = counted(path)
            facts, is_same = imported(path, vaults)
            found = Counter(fact.kind for fact in facts if fact.kind in KINDS.values())
            differing = (said(path) - known(facts)) + (known(facts) - said(path))
            is_right = expected == found and is_same and not differing
            wrong += not is_right
            shown = ", ".join(f"{kind} {expected[kind]}/{found[kind]}" for kind in KINDS.values())
            twice = "the second time changed nothing" if is_same else "THE SECOND TIME CHANGED SOMETHING"
            fields = f"{differing.total()} entries differ in their fields" if differing else "all fields agree"
            print(f"{'ok   ' if is_right else 'WRONG'} {path.name[:24]:<24} {shown}; {fields}; {twice}")
        vaults.close()
    return wrong


if __name__ == "__main__":
    sys.exit(min(main([Path(name) for name in sys.argv[1:]]), 1))
