"""Calibration files of embedders that the package has no row for: one small JSON file each, in the home folder."""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from citewell.answer.relevance_curve import Calibration, is_reviewed, known
from citewell.errors import CalibrationUnusable, LibraryReadOnly

FOLDER = "calibrations"
FORMAT = 1
MAX_BYTES = 16_384
"""A file holds a dozen numbers; what is larger was not written by us."""
LARGEST = 1_000.0
"""No weight that was fitted is near this."""
WEIGHTS = ("bias", "cosine", "coverage", "near", "wide")


def read_calibration(home: Path, embedder: str) -> Calibration:
    """How the cosines of an embedder are read: the package's row, else its file, else shared words alone."""
    if is_reviewed(embedder):
        return known(embedder)
    path = calibration_file(home, embedder)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # a pipe would be waited for without end
            _refuse(path, "it is not a file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return known(embedder)
    except OSError as error:
        _refuse(path, f"it could not be read ({error.strerror})")
    if len(data) > MAX_BYTES:
        _refuse(path, f"it is over {MAX_BYTES:,} bytes")
    return _checked(_parsed(data, path), embedder, path)


def write_calibration(home: Path, calibration: Calibration, how: Mapping[str, object]) -> Path:
    """Keep a calibration, with how it came about, in place of the one before; a crash leaves the one before."""
    path = calibration_file(home, calibration.embedder)
    weights = {name: getattr(calibration, name) for name in WEIGHTS}
    entry = {"format": FORMAT, "embedder": calibration.embedder, **weights, **how}
    beside = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        beside.write_text(json.dumps(entry, indent=2, allow_nan=False) + "\n", "utf-8")
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise LibraryReadOnly(
            f"The calibration could not be written to {path.parent} ({error.strerror}). Free some space or allow "
            "writing, then run `citewell calibrate` again."
        ) from error
    return path


def calibration_file(home: Path, embedder: str) -> Path:
    """Where the calibration of an embedder lies; its fingerprint may hold what no file name may."""
    return home / FOLDER / f"{hashlib.sha256(embedder.encode()).hexdigest()[:16]}.json"


def _parsed(data: bytes, path: Path) -> Mapping[str, Any]:
    try:
        entry = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        _refuse(path, "it is not JSON")
    if not isinstance(entry, dict) or entry.get("format") != FORMAT:
        _refuse(path, f"it is not a calibration of format {FORMAT}")
    return entry


def _checked(entry: Mapping[str, Any], embedder: str, path: Path) -> Calibration:
    """The calibration in a file, once every number is one that a fit can give."""
    if entry.get("embedder") != embedder:
        _refuse(path, "it belongs to another embedding model")
    bias, cosine, coverage, near, wide = (_number(entry.get(name), name, path) for name in WEIGHTS)
    made = Calibration(embedder, bias, cosine, coverage, near=near, wide=wide)
    if made.cosine <= 0 or made.coverage < 0:
        _refuse(path, "its weights would make closer passages less relevant")
    if not -1 <= made.wide <= made.near <= 1:
        _refuse(path, "its cosine limits are missing or out of order")
    return made


def _number(value: object, name: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        _refuse(path, f"its “{name}” is not a number")
    if isinstance(value, float) and not math.isfinite(value):  # an int may be too large to be asked
        _refuse(path, f"its “{name}” is not a number")
    if abs(value) > LARGEST:
        _refuse(path, f"its “{name}” is too large")
    return float(value)


def _refuse(path: Path, why: str) -> NoReturn:
    raise CalibrationUnusable(
        f"The calibration file {FOLDER}/{path.name} cannot be used: {why}. Run `citewell calibrate` to make a new "
        "one, or delete it; relevance then reflects shared words only."
    )
