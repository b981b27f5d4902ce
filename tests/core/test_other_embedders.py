"""A library whose vectors another embedder made: what is calibrated, and what stays with the built-in model."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.embedding.relevance_files import calibration_file
from citewell.answer.relevance_curve import built_in
from citewell.api.app import create_app
from citewell.app import App, build
from citewell.cli import main
from citewell.config import Settings
from citewell.errors import CalibrationUnusable, EmbedderMismatch, InputError
from citewell.operations.calibrate import ALREADY, calibrate
from citewell.samples import sample_files
from citewell.types import EvidenceSpan, Source
from citewell.vaults.ask import make_records_assistant
from citewell.vaults.health_record import Record
from tests.contracts.embedding_server import Behaviour, serving

pytestmark = pytest.mark.slow

SHIFT = 1.5
"""What is put beside every vector: all cosines then lie between 0.6 and 1, as those of some models do."""
QUESTION = "how often should the INR be checked with warfarin"
OFF_TOPIC = "zxqv wvut"


def squeezed(embedder: MiniLM) -> Callable[[list[str]], list[list[float]]]:
    """Vectors of the built-in model, squeezed into a narrow cone."""

    def embed(texts: list[str]) -> list[list[float]]:
        rows = embedder.embed(texts)
        return [[float(one) for one in row] for row in np.c_[rows, np.full(len(rows), SHIFT, np.float32)]]

    return embed


@contextmanager
def opened(home: Path, url: str) -> Iterator[App]:
    with build(Settings(home=home, embedder="openai", embedder_model="tiny", embedder_url=f"{url}/v1")) as app:
        yield app


@pytest.fixture
def server() -> Iterator[tuple[str, Behaviour]]:
    with serving() as told:
        yield told


def _samples(home: Path, embed: Callable[[list[str]], list[list[float]]] | None) -> Path:
    with serving() as (url, behaviour):
        behaviour.embed = embed
        with opened(home, url) as app:
            assert [outcome.error for outcome in app.add_all(sample_files())] == [None] * 4
    return home


@pytest.fixture(scope="module")
def squeezed_home(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Path:
    """The samples, embedded by a server whose cosines lie elsewhere; nobody changes it."""
    return _samples(tmp_path_factory.mktemp("squeezed") / "home", squeezed(embedder))


@pytest.fixture(scope="module")
def scrambled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same by a server whose vectors say nothing: whoever uses them gets other cosines."""
    return _samples(tmp_path_factory.mktemp("scrambled") / "home", None)


@pytest.fixture
def other(tmp_path: Path, squeezed_home: Path, server: tuple[str, Behaviour], embedder: MiniLM) -> Iterator[App]:
    """A library whose cosines lie elsewhere."""
    server[1].embed = squeezed(embedder)
    shutil.copytree(squeezed_home, tmp_path / "home")
    with opened(tmp_path / "home", server[0]) as app:
        yield app


@pytest.fixture
def scrambled(tmp_path: Path, scrambled_home: Path, server: tuple[str, Behaviour]) -> Iterator[App]:
    """A library whose vectors say nothing."""
    shutil.copytree(scrambled_home, tmp_path / "home")
    with opened(tmp_path / "home", server[0]) as app:
        yield app


@pytest.fixture
def plain(samples_home: Path) -> Iterator[App]:
    """The same, embedded by the built-in model."""
    with build(Settings(home=samples_home)) as app:
        yield app


def test_before_it_is_calibrated_relevance_is_told_from_words_and_nothing_is_left_out(other: App, plain: App) -> None:
    hits = other.search(QUESTION).hits
    assert [hit.is_calibrated for hit in hits] == [False] * len(hits)
    assert hits[0].document_id
    assert plain.search(QUESTION).hits[0].text in [hit.text for hit in hits[:3]]
    far = other.search(OFF_TOPIC).hits
    assert far, "no cosine of the built-in model says that these are too far"
    assert max(hit.relevance for hit in far) < 0.02
    assert min(hit.raw_cosine for hit in far) > 0.5
    assert plain.search(OFF_TOPIC).hits == ()


def test_calibrated_on_its_own_sentences_it_tells_what_the_built_in_model_tells(other: App, plain: App) -> None:
    made = calibrate(other)
    assert made.fit.agreement == pytest.approx(1.0, abs=1e-3)
    assert made.fit.calibration.near == pytest.approx((built_in().near + SHIFT**2) / (1 + SHIFT**2), abs=1e-3)
    expected = {hit.text: hit.relevance for hit in plain.search(QUESTION).hits}
    found = {hit.text: hit.relevance for hit in other.search(QUESTION).hits}
    assert found.keys() & expected.keys()
    for text in found.keys() & expected.keys():
        assert found[text] == pytest.approx(expected[text], abs=0.02)  # short floats of some processors: 0.012
    assert {hit.is_calibrated for hit in other.search(QUESTION).hits} == {True}
    assert other.search(OFF_TOPIC).hits == ()


def test_a_file_is_found_again_by_the_fingerprint(other: App, server: tuple[str, Behaviour]) -> None:
    made = calibrate(other)
    assert made.path == calibration_file(other.settings.home, other.embedder.fingerprint)
    with opened(other.settings.home, server[0]) as again:
        assert again.search(QUESTION).hits[0].is_calibrated


def test_a_broken_file_is_told_until_it_is_made_anew_and_calibrating_in_vain_changes_nothing(
    other: App, server: tuple[str, Behaviour], tmp_path: Path
) -> None:
    path = calibrate(other).path
    path.write_text("{}")
    with pytest.raises(CalibrationUnusable, match="citewell calibrate"):
        other.search(QUESTION)
    good = calibrate(other).path.read_bytes()
    assert other.search(QUESTION).hits[0].is_calibrated
    (tmp_path / "claims").mkdir()
    with pytest.raises(InputError, match=r"corpus\.jsonl"):
        calibrate(other, data=tmp_path / "claims")
    server[1].embed = lambda texts: [[1.0, float(len(text) % 7), *[0.5] * 383] for text in texts]
    with pytest.raises(InputError, match="Nothing was saved"):
        calibrate(other)
    assert path.read_bytes() == good
    assert list(path.parent.iterdir()) == [path]


def test_what_needs_no_calibration_or_fits_no_library_is_refused(
    plain: App, app: App, server: tuple[str, Behaviour]
) -> None:
    with pytest.raises(InputError, match="already calibrated") as caught:
        calibrate(plain)
    assert str(caught.value) == ALREADY
    with opened(plain.settings.home, server[0]) as misfit, pytest.raises(EmbedderMismatch):
        calibrate(misfit)
    with opened(app.settings.home, server[0]) as empty, pytest.raises(InputError, match="Add documents"):
        calibrate(empty)


# ------------------------------------------------------------------------------------------------------ judged claims


def _claims(folder: Path, count: int) -> Path:
    """Made-up abstracts, each on a thing of its own, and a claim that cites each."""
    folder.mkdir()
    things = ["asthma", "gout", "malaria", "migraine", "scurvy", "anaemia", "eczema", "angina"]
    drugs = ["salt water", "willow bark", "lime juice", "iron filings", "cod liver oil", "warm milk", "black tea"]
    pairs = [(thing, drug) for thing in things for drug in drugs][:count]
    with (folder / "corpus.jsonl").open("w") as corpus:
        for number, (thing, drug) in enumerate(pairs):
            text = f"We gave {drug} to people with {thing}. After a month fewer of them had symptoms of {thing}."
            print(
                json.dumps({"_id": str(number), "title": f"{drug} in {thing}".capitalize(), "text": text}), file=corpus
            )
    with (folder / "claims_train.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "claim", "cited_doc_ids"])
        rows.writerows(
            [number, f"{drug.capitalize()} relieves {thing}.", f"[{number}]"]
            for number, (thing, drug) in enumerate(pairs)
        )
    return folder


def test_judged_claims_are_searched_and_fitted_and_the_library_is_left_as_it_is(other: App, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    before = other.library.stamp()
    made = calibrate(other, data=_claims(tmp_path / "claims", 50), watch=lambda *step: told.append(step))
    assert told[-1] == (50, 50)
    assert (made.fit.pairs, made.on, made.fit.agreement) == (100, "judged claims", None)
    assert made.fit.error is not None
    assert made.fit.calibration.cosine > 0
    assert 0.6 < made.fit.calibration.wide < made.fit.calibration.near < 1
    assert other.library.stamp() == before
    assert other.search(QUESTION).hits[0].is_calibrated


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("corpus.jsonl", "{"),
        ("corpus.jsonl", '{"_id": "1"}'),
        ("corpus.jsonl", "[1]"),
        ("claims_train.csv", "a,b\n1,2\n"),
        ("claims_train.csv", "claim,cited_doc_ids\nonly a claim\n"),
    ],
)
def test_claims_in_another_layout_are_refused(other: App, tmp_path: Path, name: str, written: str) -> None:
    folder = _claims(tmp_path / "claims", 3)
    (folder / name).write_text(written)
    with pytest.raises(InputError, match="SciFact's layout"):
        calibrate(other, data=folder)


# ------------------------------------------------------------------------------------------------- what people are told


def test_the_command_line_the_page_and_programs_are_told_what_is_not_calibrated(
    other: App, server: tuple[str, Behaviour], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("", "openai"), ("_MODEL", "tiny"), ("_URL", f"{server[0]}/v1")):
        monkeypatch.setenv(f"CITEWELL_EMBEDDER{name}", value)
    token = "a-token-for-tests"
    site = TestClient(create_app(other, token=token), base_url="http://127.0.0.1:8477")
    site.headers["Authorization"] = f"Bearer {token}"

    def run(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["citewell", "--home", str(other.settings.home), *words])
        try:
            main()
        except SystemExit as stopped:
            assert not stopped.code  # noqa: PT017 - it may end without
        return capsys.readouterr().out

    def told() -> tuple[bool, bool, bool, bool]:
        found = site.get("/api/v1/search", params={"q": QUESTION}).json()["hits"][0]["is_calibrated"]
        page = site.get("/search", params={"q": QUESTION}).text
        printed = " ".join(run("search", QUESTION).split())
        checked = " ".join(run("doctor").split())
        return (
            not found,
            "not calibrated" in page,
            "Match scores are not calibrated for this embedding model" in printed,
            "relevance is not calibrated" in checked,
        )

    assert told() == (True, True, True, True)
    made = json.loads(run("calibrate", "--json"))
    assert made["embedder"] == other.embedder.fingerprint
    assert Path(made["file"]).is_file()
    assert told() == (False, False, False, False)
    assert "Agreement with the built-in model's similarities: 1.00" in run("calibrate")


def test_a_broken_file_is_a_calm_problem_over_http(other: App) -> None:
    calibrate(other).path.write_text("{}")
    token = "a-token-for-tests"
    site = TestClient(create_app(other, token=token), base_url="http://127.0.0.1:8477")
    answer = site.get("/api/v1/search", params={"q": QUESTION}, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 503
    assert "citewell calibrate" in answer.json()["detail"]


# ------------------------------------------------------------------------------- what was fitted to the built-in model


def test_a_sentence_is_checked_by_the_built_in_model_whoever_embeds_the_library(
    scrambled: App, plain: App, server: tuple[str, Behaviour]
) -> None:
    def spans(app: App) -> list[EvidenceSpan]:
        entry = next(one for one in app.entries() if "arfarin" in one.title)
        chunks = app.show(entry.id)[2]
        return [EvidenceSpan(f"{entry.id}:{one.index}", one.start, one.end, one.text) for one in chunks]

    asked = len(server[1].batches)
    for sentence in ("Tell a doctor about any bleeding while taking warfarin.", "Warfarin cures migraine in children."):
        mine, expected = (app.verify_sentence(sentence, spans(app)) for app in (scrambled, plain))
        assert (mine.verdict, mine.reasons) == (expected.verdict, expected.reasons)
        assert mine.support == pytest.approx(expected.support, abs=1e-3)
    assert len(server[1].batches) == asked, "the server was asked for nothing"


def test_the_chat_and_the_kinds_of_a_records_questions_are_told_by_the_built_in_model(
    scrambled: App, plain: App, server: tuple[str, Behaviour]
) -> None:
    asked = len(server[1].batches)
    for message in ("How do I treat a cough?", "Hello there, how are you?"):
        assert scrambled.chat._near(message) == pytest.approx(plain.chat._near(message))
    near = make_records_assistant(scrambled, Record(scrambled).facts).near
    assert near is not None
    assert near("Which tablets do I take?")
    assert len(server[1].batches) == asked, "the server was asked for nothing"


def test_the_same_words_given_as_a_source_are_judged_alike(scrambled: App, plain: App) -> None:
    note = "Give ferrous sulfate 200 mg once daily for iron deficiency anaemia."
    scrambled.add_source(Source(f"# Iron\n\n{note}".encode(), "iron.md"))
    checks = [app.check("Ferrous sulfate 200 mg is given once a day.", evidence=note) for app in (scrambled, plain)]
    assert checks[0][0][1].verdict == checks[1][0][1].verdict
