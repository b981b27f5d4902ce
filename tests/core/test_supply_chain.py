"""What is installed is known to the byte: lock, bill of materials and table of weights agree with the code."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKED = dict(re.findall(r"^([\w.-]+)==(\S+) \\$", (ROOT / "requirements.lock").read_text(), re.MULTILINE))
PINNED = {
    canonicalize_name(name): version
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
}


def test_the_lock_has_every_direct_dependency_at_its_pinned_version() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {canonicalize_name(Requirement(text).name) for text in project["dependencies"]}
    assert needed - LOCKED.keys() == set()
    assert {name: version for name, version in LOCKED.items() if PINNED.get(name) != version} == {}


def test_every_locked_package_has_hashes_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(LOCKED)
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)
    assert "://" not in text


def test_the_bill_of_materials_names_every_package_and_all_weights_with_hashes_and_licences() -> None:
    subprocess.run([sys.executable, "-W", "error", str(ROOT / "scripts" / "make_sbom.py")], check=True, cwd=ROOT)
    bill = json.loads((ROOT / "build" / "sbom.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    parts = {part["name"]: part for part in bill["components"]}
    assert parts.keys() >= LOCKED.keys()
    assert all(part["hashes"] and part["licenses"] for part in parts.values())
    for weights in (ROOT / "src" / "citewell").rglob("*.npz"):
        name = str(weights.relative_to(ROOT / "src" / "citewell"))
        assert parts[name]["hashes"][0]["content"] == hashlib.sha256(weights.read_bytes()).hexdigest()
        assert f"| {name} |" in (ROOT / "docs" / "models.md").read_text()
