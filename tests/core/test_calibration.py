"""How relevance is read from the cosines of an embedder: fitted, kept in a file, or told from words alone."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.embedding.relevance_files import (
    MAX_BYTES,
    calibration_file,
    read_calibration,
    write_calibration,
)
from citewell.answer.fit_relevance import JudgedHits, calibration_error, equate, fit_curve
from citewell.answer.rank import relevance
from citewell.answer.relevance_curve import Calibration, built_in, known
from citewell.errors import CalibrationUnusable, InputError, LibraryReadOnly

OTHER = "openai:another:8"
GOOD = Calibration(OTHER, -9.0, 8.0, 4.5, near=0.7, wide=0.6)


def test_the_built_in_model_has_a_reviewed_row(embedder: MiniLM) -> None:
    assert built_in() == known(embedder.fingerprint)
    assert (built_in().is_fitted, built_in().near, built_in().wide) == (True, 0.3, 0.2)


def test_of_an_embedder_that_was_not_calibrated_words_alone_tell_relevance_and_nothing_is_left_out() -> None:
    plain = known(OTHER)
    assert (plain.embedder, plain.is_fitted, plain.near, plain.wide) == (OTHER, False, -1.0, -1.0)
    assert relevance([0.9], [0.9], [0.4], calibration=plain) == relevance([0.1], [0.1], [0.4], calibration=plain)
    none, half, whole = relevance([0.5] * 3, [0.5] * 3, [0.0, 0.5, 1.0], calibration=plain)
    assert none < 0.05 < half < 0.5 < whole < 0.9


# ------------------------------------------------------------------------------------------------------------- the fits


def test_cosines_on_another_scale_are_read_as_the_built_in_models() -> None:
    seen = np.random.default_rng(0).uniform(-0.1, 0.9, 200)
    found = equate(0.7 + 0.2 * seen, seen, embedder=OTHER)
    assert found.agreement == pytest.approx(1.0)
    assert (found.calibration.near, found.calibration.wide) == (
        pytest.approx(0.7 + 0.2 * built_in().near),
        pytest.approx(0.7 + 0.2 * built_in().wide),
    )
    told = relevance(0.7 + 0.2 * seen, 0.7 + 0.2 * seen, seen, calibration=found.calibration)
    assert told == pytest.approx(relevance(seen, seen, seen, calibration=built_in()))


@pytest.mark.parametrize(
    "cosines",
    [np.full(200, 0.8), np.random.default_rng(1).uniform(0, 1, 200), -np.linspace(-0.1, 0.9, 200)],
    ids=["all the same", "at random", "the wrong way round"],
)
def test_an_embedder_whose_cosines_tell_nothing_is_not_calibrated(cosines: np.ndarray) -> None:
    with pytest.raises(InputError, match="does not reflect relevance"):
        equate(cosines, np.linspace(-0.1, 0.9, 200), embedder=OTHER)


def test_too_few_pairs_are_no_calibration() -> None:
    with pytest.raises(InputError, match="Add documents"):
        equate(np.linspace(0, 1, 59), np.linspace(0, 1, 59), embedder=OTHER)


def _drawn(count: int) -> JudgedHits:
    """Hits that are right as often as a known curve says."""
    draw = np.random.default_rng(7)
    cosines, coverages = draw.uniform(0.5, 0.9, count), draw.uniform(0, 1, count)
    chances = 1 / (1 + np.exp(9.0 - 8.0 * cosines - 4.5 * coverages))
    return JudgedHits(cosines, coverages, draw.uniform(0, 1, count) < chances, np.arange(count) // 2)


def test_judged_hits_give_the_curve_that_they_were_drawn_from() -> None:
    found = fit_curve(_drawn(6_000), np.linspace(0.4, 0.8, 1_001), embedder=OTHER)
    made = found.calibration
    assert (made.bias, made.cosine, made.coverage) == (
        pytest.approx(-9.0, abs=0.8),
        pytest.approx(8.0, abs=1.0),
        pytest.approx(4.5, abs=0.5),
    )
    assert (made.near, made.wide) == (pytest.approx(0.78), pytest.approx(0.72))  # 5 % and 20 % of the pairs lie above
    assert found.error is not None
    assert found.error < 0.03


def test_too_few_right_hits_are_no_calibration() -> None:
    judged = _drawn(200)
    wrong = JudgedHits(judged.cosines, judged.coverages, np.zeros(200, bool), judged.questions)
    with pytest.raises(InputError, match="20 right and 20 wrong ones are needed"):
        fit_curve(wrong, judged.cosines, embedder=OTHER)


def test_hits_that_are_the_more_wrong_the_nearer_are_no_calibration() -> None:
    judged = _drawn(600)
    turned = JudgedHits(judged.cosines, judged.coverages, judged.cosines < 0.7, judged.questions)
    with pytest.raises(InputError, match="Nothing was saved"):
        fit_curve(turned, judged.cosines, embedder=OTHER)


def test_what_is_always_said_too_high_is_an_error() -> None:
    assert calibration_error(np.full(10, 0.9), np.zeros(10, bool)) == pytest.approx(0.9)


# ------------------------------------------------------------------------------------------------------------- the file


def test_a_calibration_is_read_as_it_was_written_and_only_for_its_embedder(tmp_path: Path) -> None:
    path = write_calibration(tmp_path, GOOD, {"fitted_on": "claims"})
    assert json.loads(path.read_text())["fitted_on"] == "claims"
    assert read_calibration(tmp_path, OTHER) == GOOD
    assert read_calibration(tmp_path, "openai:other:8") == known("openai:other:8")
    assert list(path.parent.iterdir()) == [path]


def test_no_file_takes_the_place_of_a_reviewed_row(tmp_path: Path) -> None:
    name = built_in().embedder
    write_calibration(tmp_path, Calibration(name, 0.0, 9.0, 9.0, near=0.9, wide=0.9), {})
    assert read_calibration(tmp_path, name) == built_in()


def _file(**changed: object) -> str:
    told = {"format": 1, "embedder": OTHER, "bias": -9, "cosine": 8.0, "coverage": 4.5, "near": 0.7, "wide": 0.6}
    return json.dumps({**told, **changed})


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 8_000, "not JSON"),
        ("\udcff", "not JSON"),
        ("[1, 2]", "not a calibration of format 1"),
        (_file(format=2), "not a calibration of format 1"),
        (_file(embedder="openai:other:8"), "another embedding model"),
        (_file(embedder=None), "another embedding model"),
        (_file(bias="-9"), "“bias” is not a number"),
        (_file(bias=None), "“bias” is not a number"),
        (_file(cosine=True), "“cosine” is not a number"),
        (_file(cosine=math.nan), "“cosine” is not a number"),
        (_file(coverage=math.inf), "“coverage” is not a number"),
        (_file(coverage=[4.5]), "“coverage” is not a number"),
        (_file(bias=10**400), "“bias” is too large"),
        (_file(cosine=1e9), "“cosine” is too large"),
        (_file(cosine=0), "less relevant"),
        (_file(coverage=-1), "less relevant"),
        (_file(near=1.5), "cosine limits"),
        (_file(wide=0.8), "cosine limits"),
        (_file(note="x" * MAX_BYTES), "it is over"),
    ],
)
def test_a_broken_or_hostile_file_is_told_and_left_as_it_is(tmp_path: Path, written: str, told: str) -> None:
    path = calibration_file(tmp_path, OTHER)
    path.parent.mkdir()
    path.write_bytes(written.encode(errors="surrogateescape"))
    before = path.read_bytes()
    with pytest.raises(CalibrationUnusable, match=told) as caught:
        read_calibration(tmp_path, OTHER)
    assert "citewell calibrate" in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_what_is_no_file_in_its_place_is_told(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = calibration_file(tmp_path, OTHER)
    path.parent.mkdir()
    make(path)
    with pytest.raises(CalibrationUnusable, match=r"not a file|could not be read"):
        read_calibration(tmp_path, OTHER)


def test_a_home_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "calibrations").write_text("a file where the folder should be")
    with pytest.raises(LibraryReadOnly, match="run `citewell calibrate` again"):
        write_calibration(tmp_path, GOOD, {})
