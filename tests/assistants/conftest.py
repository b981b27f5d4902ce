"""Guidelines that several tests read once."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from citewell.adapters.parsers.pdf import PdfParser
from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_guideline import read
from citewell.types import Document, ParseLimits, Source
from tests.once import once


def parsed(path: Path) -> Document:
    """A PDF as the product reads it."""
    source = Source(path.read_bytes(), path.name)
    return PdfParser().parse(source, media_type="application/pdf", limits=ParseLimits())


def parsed_once(path: Path, factory: pytest.TempPathFactory) -> Document:
    """The same, read once for all processes of a run."""
    kept = once(factory, f"{path.stem}.pickle", lambda to: to.write_bytes(pickle.dumps(parsed(path))))
    document: Document = pickle.loads(kept.read_bytes())
    return document


@pytest.fixture(scope="session")
def ng12_file(shared_data: Path) -> Path:
    """The real guideline on suspected cancer."""
    path = shared_data / "guidelines" / "nice-ng12-2025-05.pdf"
    if not path.is_file():
        pytest.skip("the guideline is not here (../shared/data/guidelines)")
    return path


@pytest.fixture(scope="session")
def ng12_document(ng12_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Document:
    """The same, parsed."""
    return parsed_once(ng12_file, tmp_path_factory)


@pytest.fixture(scope="session")
def ng12(ng12_document: Document) -> Guideline:
    """The same, read."""
    return read(ng12_document)


@pytest.fixture(scope="session")
def ng136(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Guideline:
    """Another guideline, of another kind."""
    path = shared_data / "guidelines" / "nice-ng136-hypertension.pdf"
    if not path.is_file():
        pytest.skip("the guideline is not here (../shared/data/guidelines)")
    return read(parsed_once(path, tmp_path_factory))
