"""Imports bundles into a vault until it is killed; says on standard output what it begins and what is done."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from citewell.config import Settings
from citewell.types import Source
from citewell.vaults.vaults import OpenVault, Vaults
from tests.faults.churn import Hashes, say

PASSPHRASE = "three green bicycles"
RESULTS = 300


def bundle(number: int) -> Source:
    """A record with several hundred results, all of one number."""
    results = [
        {
            "resource": {
                "resourceType": "Observation",
                "id": f"{number}-{position}",
                "status": "final",
                "code": {"text": f"Test {position}"},
                "effectiveDateTime": "2024-05-01",
                "valueQuantity": {"value": number},
            }
        }
        for position in range(RESULTS)
    ]
    data = json.dumps({"resourceType": "Bundle", "type": "collection", "entry": results}).encode()
    return Source(data, f"{number}.json")


def opened(home: Path) -> OpenVault:
    """The only vault of a home."""
    vaults = Vaults(Settings(home=home))
    profile = vaults.open(vaults.find(None).id, PASSPHRASE)
    profile.app.__dict__["embedder"] = Hashes()  # the fault is in writing, so the meaning does not matter
    return profile


def export(number: int) -> Source:
    """A zip of a bundle and two letters."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as target:
        target.writestr(f"{number}.json", bundle(number).data)
        for letter in ("a", "b"):
            target.writestr(f"{number}{letter}.txt", f"Letter {letter} of {number}: all is well.")
    return Source(made.getvalue(), f"{number}.zip")


def import_for_ever(home: Path, first: int, made: Callable[[int], Source]) -> None:
    """Import one bundle or one export after another."""
    profile = opened(home)
    _ = profile.app.reader
    say("ready")
    number = first
    while True:
        say("begin", number)
        profile.record.import_source(made(number))
        say("done", number)
        number += 1


if __name__ == "__main__":
    import_for_ever(Path(sys.argv[1]), int(sys.argv[2]), {"bundle": bundle, "export": export}[sys.argv[3]])
