"""Guidelines that several tests read once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.assistants.guidelines.guideline import Guideline
from citewell.assistants.guidelines.read_guideline import read
from citewell.types import Document


@pytest.fixture(scope="session")
def ng12_file(shared_data: Path) -> Path:
    """The real guideline on suspected cancer."""
    path = shared_data / "guidelines" / "nice-ng12-2025-05.pdf"
    if not path.is_file():
        pytest.skip("the guideline is not here (../shared/data/guidelines)")
    return path


@pytest.fixture(scope="session")
def ng12_document(parsed_guideline: Callable[[str], Document]) -> Document:
    """The same, parsed."""
    return parsed_guideline("nice-ng12-2025-05.pdf")


@pytest.fixture(scope="session")
def ng12(ng12_document: Document) -> Guideline:
    """The same, read."""
    return read(ng12_document)


@pytest.fixture(scope="session")
def ng136(parsed_guideline: Callable[[str], Document]) -> Guideline:
    """Another guideline, of another kind."""
    return read(parsed_guideline("nice-ng136-hypertension.pdf"))
