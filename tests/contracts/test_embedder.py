"""One contract for every embedder; the remote ones run against small servers that speak the documented protocols."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.embedding.ollama import OllamaEmbedder
from citewell.adapters.embedding.openai import OpenAIEmbedder
from citewell.errors import EmbedderUnavailable
from citewell.ports import Embedder
from tests.contracts.embedding_server import DIGEST, DIMENSIONS, Behaviour, serving


@dataclass
class Remote:
    """An embedder, the server it asks, and the pauses it made."""

    embedder: OpenAIEmbedder | OllamaEmbedder
    server: Behaviour
    pauses_s: list[float]


@contextmanager
def remote(vendor: str, model: str = "tiny") -> Iterator[Remote]:
    with serving() as (url, behaviour):
        pauses_s: list[float] = []
        made = (
            OpenAIEmbedder(model, url=f"{url}/v1", key="secret", sleep=pauses_s.append)
            if vendor == "openai"
            else OllamaEmbedder(model, url=url, sleep=pauses_s.append)
        )
        try:
            yield Remote(made, behaviour, pauses_s)
        finally:
            made.close()


@pytest.fixture(params=["openai", "ollama"])
def vendor(request: pytest.FixtureRequest) -> Iterator[Remote]:
    with remote(request.param) as made:
        yield made


@pytest.fixture(params=["onnxruntime", "openvino", "openai", "ollama"], scope="module")
def embedder(request: pytest.FixtureRequest, model_cache: Path) -> Iterator[Embedder]:
    if request.param in ("openai", "ollama"):
        with remote(request.param) as made:
            yield made.embedder
        return
    if request.param == "openvino":
        pytest.importorskip("openvino", reason="the openvino extra is not installed")
    yield MiniLM(model_cache, backend=request.param)


TEXTS = ["Give 5 mg.", "Fever and cough for two days", "", "a " * 700, "naïve \ud800 日本", "Give 5 mg."]


class TestEveryEmbedder:
    def test_gives_one_unit_row_of_float32_per_text(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS)
        assert (vectors.shape, vectors.dtype) == ((len(TEXTS), embedder.dimensions), np.dtype(np.float32))
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)

    def test_keeps_the_order_whatever_the_lengths(self, embedder: Embedder) -> None:
        forward, backward = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
        assert np.allclose(forward, backward[::-1], atol=1e-3)

    def test_gives_equal_texts_equal_rows(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS)
        assert np.array_equal(vectors[0], vectors[-1])

    def test_gives_no_rows_for_no_texts(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.dimensions)

    def test_gives_a_text_alone_what_it_gives_it_in_company(self, embedder: Embedder) -> None:
        together = embedder.embed([f"{number} mg of the drug" for number in range(70)])
        assert np.allclose(embedder.embed(["33 mg of the drug"])[0], together[33], atol=2e-3)

    def test_tells_how_far_it_is_and_ends_at_all(self, embedder: Embedder) -> None:
        told: list[tuple[int, int]] = []
        embedder.embed([f"{number % 90} mg" for number in range(100)], progress=lambda *step: told.append(step))
        assert told[-1] == (100, 100)
        assert told == sorted(set(told))

    def test_has_a_fingerprint_that_names_its_dimensions(self, embedder: Embedder) -> None:
        assert embedder.fingerprint.endswith(f":{embedder.dimensions}")
        assert embedder.fingerprint == embedder.fingerprint

    def test_answers_several_threads_at_once(self, embedder: Embedder) -> None:
        questions = [f"what is the dose of drug {number}" for number in range(24)]
        expected = embedder.embed(questions)
        with ThreadPoolExecutor(6) as threads:
            found = list(threads.map(lambda question: embedder.embed([question])[0], questions))
        assert np.allclose(found, expected, atol=2e-3)


class TestRemoteEmbedders:
    def test_names_model_and_weights(self) -> None:
        with remote("openai") as openai, remote("ollama") as ollama:
            assert openai.embedder.fingerprint == "openai:tiny:8"
            assert ollama.embedder.fingerprint == f"ollama:tiny:{DIGEST[:12]}:8"

    def test_sends_the_key(self) -> None:
        with remote("openai") as made:
            made.embedder.embed(["a"])
            assert made.server.keys == {"Bearer secret"}

    def test_asks_in_batches_and_for_equal_texts_once(self, vendor: Remote) -> None:
        vendor.embedder.embed([f"{number % 150}" for number in range(300)])
        assert vendor.server.batches == [1, 64, 64, 22]

    @pytest.mark.parametrize("failure", [429, 500, 503, "cut"])
    def test_tries_again_when_that_may_help(self, vendor: Remote, failure: int | str) -> None:
        vendor.server.failures = [failure, failure, failure]
        assert vendor.embedder.embed(["a"]).shape == (1, DIMENSIONS)
        assert [round(pause_s) for pause_s in vendor.pauses_s] in ([1, 2, 3], [1, 2, 4], [1, 2, 5])

    @pytest.mark.parametrize("failure", [429, 500, "cut"])
    def test_gives_up_after_the_fourth_failure(self, vendor: Remote, failure: int | str) -> None:
        vendor.server.failures = [failure] * 9
        with pytest.raises(EmbedderUnavailable, match=r"could not be reached|cannot embed at the moment"):
            vendor.embedder.embed(["a"])
        assert len(vendor.server.batches) == 4

    def test_waits_as_long_as_the_server_asks_up_to_ten_seconds(self) -> None:
        with remote("openai") as made:
            made.server.failures, made.server.headers = [429], {"Retry-After": "60"}
            made.embedder.embed(["a"])
            assert made.pauses_s == [10.0]

    @pytest.mark.parametrize(
        ("failure", "told"),
        [(401, "CITEWELL_EMBEDDER_KEY"), (400, "CITEWELL_EMBEDDER_URL"), ("words", "one vector per text")],
    )
    def test_does_not_repeat_what_cannot_succeed(self, vendor: Remote, failure: int | str, told: str) -> None:
        vendor.server.failures = [failure]
        with pytest.raises(EmbedderUnavailable, match=told) as caught:
            vendor.embedder.embed(["a"])
        assert "document" not in str(caught.value)
        assert vendor.pauses_s == []

    @pytest.mark.parametrize("vendor_name", ["openai", "ollama"])
    def test_says_how_to_get_a_model_that_is_not_there(self, vendor_name: str) -> None:
        with remote(vendor_name, "absent") as made, pytest.raises(EmbedderUnavailable, match="does not have the model"):
            made.embedder.embed(["a"])

    @pytest.mark.parametrize(
        "change",
        [
            lambda vectors: vectors[1:],
            lambda vectors: [*vectors, vectors[0]],
            lambda vectors: [row[: 1 + place] for place, row in enumerate(vectors)],
            lambda vectors: [[0.0 for _ in row] for row in vectors],
            lambda vectors: [["x" for _ in row] for row in vectors],
        ],
        ids=["too few", "too many", "of several lengths", "zero", "not numbers"],
    )
    def test_refuses_an_answer_that_is_not_one_vector_per_text(self, vendor: Remote, change: Any) -> None:
        assert vendor.embedder.dimensions == DIMENSIONS
        vendor.server.change = change
        with pytest.raises(EmbedderUnavailable, match="one vector per text"):
            vendor.embedder.embed(["a", "b", "c"])

    @pytest.mark.parametrize("place", [lambda index: index // 2, lambda index: index + 1, lambda _index: 0])
    def test_refuses_vectors_of_which_it_is_not_said_whose_they_are(self, place: Callable[[int], int]) -> None:
        with remote("openai") as vendor:
            assert vendor.embedder.dimensions == DIMENSIONS
            vendor.server.place = place
            with pytest.raises(EmbedderUnavailable, match="one vector per text"):
                vendor.embedder.embed(["a", "b", "c"])

    def test_refuses_vectors_of_other_dimensions_than_before(self, vendor: Remote) -> None:
        assert vendor.embedder.dimensions == DIMENSIONS
        vendor.server.dimensions = 6
        with pytest.raises(EmbedderUnavailable, match="6 numbers for tiny, but 8 before"):
            vendor.embedder.embed(["a"])

    @pytest.mark.parametrize("vendor_class", [OpenAIEmbedder, OllamaEmbedder])
    def test_says_what_to_start_when_nothing_answers(self, vendor_class: Any) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://user:secret@127.0.0.1:{closed.getsockname()[1]}"
            made = vendor_class("tiny", url=url, sleep=lambda _: None)
            with pytest.raises(EmbedderUnavailable, match=r"could not be reached. Start it") as caught:
                made.embed(["a"])
            made.close()
        assert "secret" not in str(caught.value)


def test_the_backends_of_the_built_in_model_are_comparable(model_cache: Path) -> None:
    pytest.importorskip("openvino", reason="the openvino extra is not installed")
    one, other = MiniLM(model_cache, backend="onnxruntime"), MiniLM(model_cache, backend="openvino")
    assert one.fingerprint == other.fingerprint
    texts = ["Give 5 mg of the drug twice a day.", "Fever and cough for two days", "Who should not take aspirin?"]
    assert (one.embed(texts) * other.embed(texts)).sum(axis=1).min() > 0.999
