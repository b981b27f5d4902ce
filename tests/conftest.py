"""Real parts that several tests share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.embedding.tokenizer import WordPiece
from citewell.adapters.parsers import all_parsers
from citewell.bootstrap import App, build
from citewell.config import Settings
from citewell.ingest.read import Reader
from citewell.types import Limits
from tests.postgres import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real documents beside the checkout; tests that need them say so and skip without them."""
    if not SHARED.is_dir():
        pytest.skip("real documents are not here (../shared/data)")
    return SHARED


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the model's graph is built, once for all tests."""
    return tmp_path_factory.mktemp("model")


@pytest.fixture(scope="session")
def embedder(model_cache: Path) -> MiniLM:
    """The built-in model."""
    return MiniLM(model_cache)


@pytest.fixture(scope="session")
def reader(embedder: MiniLM) -> Reader:
    """What reads files, with small limits."""
    return Reader(all_parsers(), WordPiece.load(), embedder, Limits(max_bytes=20_000_000, max_pages=300))


@pytest.fixture
def app(tmp_path: Path, embedder: MiniLM) -> Iterator[App]:
    """An empty library in a folder of its own."""
    with build(Settings(home=tmp_path / "home")) as made:
        made.__dict__["embedder"] = embedder  # the model is loaded once for all tests
        yield made
