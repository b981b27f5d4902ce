"""Counts what stands in FHIR bundles, reading the JSON on its own, and holds it against what Citewell imports.

    python scripts/check_fhir.py ../shared/data/fhir/*.json

Every bundle goes into a new vault of its own, twice; the second time nothing may change.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

from citewell.bootstrap.vault import Vaults
from citewell.config import Settings

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


def imported(path: Path, vaults: Vaults) -> tuple[Counter[str], bool]:
    """How many facts of each kind Citewell has after two imports, and whether the second changed anything."""
    header, _phrase = vaults.create(path.stem[:40], PASSPHRASE)
    with vaults.open(header.id, PASSPHRASE) as profile:
        profile.record.import_file(path)
        before = profile.record.facts.all(profile.record.scope)
        again = profile.record.import_file(path)
        facts = profile.record.facts.all(profile.record.scope)
        is_same = (
            facts == before and again.change.same == len(facts) and again.added is not None and again.added.was_there
        )
    return Counter(fact.kind for fact in facts if fact.kind in KINDS.values()), is_same


def main(paths: list[Path]) -> int:
    """Compare bundle by bundle; the number of those that differ."""
    wrong = 0
    with tempfile.TemporaryDirectory() as home:
        vaults = Vaults(Settings(home=Path(home)))
        for path in paths:
            expected = counted(path)
            found, is_same = imported(path, vaults)
            is_right = expected == found and is_same
            wrong += not is_right
            shown = ", ".join(f"{kind} {expected[kind]}/{found[kind]}" for kind in KINDS.values())
            twice = "the second time changed nothing" if is_same else "THE SECOND TIME CHANGED SOMETHING"
            print(f"{'ok   ' if is_right else 'WRONG'} {path.name[:24]:<24} {shown}; {twice}")
        vaults.close()
    return wrong


if __name__ == "__main__":
    sys.exit(min(main([Path(name) for name in sys.argv[1:]]), 1))
