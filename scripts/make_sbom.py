"""Writes the software bill of materials (CycloneDX 1.6, JSON): the packages of `requirements.lock` and all weights."""

from __future__ import annotations

import csv
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

import citewell
from citewell.minilm.weights import model_file

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "citewell"
SBOM = ROOT / "build" / "sbom.cdx.json"
BASE = "MODEL"
LOCKED = re.compile(r"^([\w.-]+)==(\S+)((?: \\\n +--hash=sha256:[0-9a-f]{64})+)$", re.MULTILINE)
DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Weights:
    """One file of weights, and where it comes from."""

    file: str
    use: str
    origin: str
    learned_from: str
    licence: str

    @property
    def path(self) -> Path:
        return model_file("model.safetensors") if self.file == BASE else SOURCE / self.file

    @property
    def name(self) -> str:
        return "all-MiniLM-L6-v2/model.safetensors" if self.file == BASE else self.file

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


def weights() -> list[Weights]:
    """The rows of the table of weights."""
    lines = (ROOT / "scripts" / "weights.tsv").read_text("utf-8").splitlines()
    rows = list(csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t"))
    return [Weights(*row) for row in rows[1:]]


def sbom() -> Bom:
    """What a server runs: the product, its packages at their locked versions, and its weights."""
    bom, licences = Bom(), LicenseFactory()
    bom.metadata.component = Component(
        name="citewell",
        version=citewell.__version__,
        type=ComponentType.APPLICATION,
        licenses=[licences.make_from_string("Apache-2.0")],
    )
    parts = [*_packages(licences), *_models(licences)]
    bom.components.update(parts)
    bom.register_dependency(bom.metadata.component, parts)
    return bom


def _packages(licences: LicenseFactory) -> Iterator[Component]:
    for name, version, hashes in LOCKED.findall((ROOT / "requirements.lock").read_text("utf-8")):
        yield Component(
            name=name,
            version=version,
            type=ComponentType.LIBRARY,
            purl=PackageURL("pypi", name=name, version=version),
            licenses=[licences.make_from_string(_licence(metadata(name)))],
            hashes=[_sha256(digest) for digest in DIGEST.findall(hashes)],
        )


def _models(licences: LicenseFactory) -> Iterator[Component]:
    for model in weights():
        yield Component(
            name=model.name,
            version=citewell.__version__,
            type=ComponentType.MACHINE_LEARNING_MODEL,
            description=f"{model.use}. {model.origin}; learned from: {model.learned_from}",
            licenses=[licences.make_from_string(model.licence)],
            hashes=[_sha256(model.sha256)],
        )


def _sha256(digest: str) -> HashType:
    return HashType(alg=HashAlgorithm.SHA_256, content=digest)


def _licence(package: PackageMetadata) -> str:
    """What a package says of its licence: the expression, else its classifiers, else the first line of its text."""
    if expression := package.get("License-Expression"):
        return expression
    classifiers = [
        line.rpartition(" :: ")[2] for line in package.get_all("Classifier", []) if line.startswith("License")
    ]
    named = [text for text in classifiers if text != "OSI Approved"]
    text = (package.get("License") or "").strip()
    return " and ".join(named) or text.partition("\n")[0] or "not stated in the package"


def main() -> None:
    """Write the bill of materials."""
    try:
        text = JsonV1Dot6(sbom()).output_as_string(indent=1)
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed here. Run `make test` once, then try again. Nothing was written.")
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(text, "utf-8")
    print(f"{SBOM.relative_to(ROOT)} written")


if __name__ == "__main__":
    main()
