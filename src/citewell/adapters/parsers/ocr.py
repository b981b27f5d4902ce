"""Reads words from pictures of text with the OCR extra."""

from __future__ import annotations

import importlib.util
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

INSTALL = "pip install 'citewell[ocr]'"
"""What makes pictures of text readable."""

Pixels = NDArray[np.uint8]
"""Rows, columns, red-green-blue."""


@dataclass(frozen=True, slots=True)
class SeenWord:
    """A word in a picture, with its box in pixels from the top left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    sure: float = 1.0
    """How sure the engine is of it, in [0, 1]."""


def is_installed() -> bool:
    """Whether the OCR extra can be used here."""
    return importlib.util.find_spec("rapidocr") is not None


class Ocr:
    """Reads pictures of text, one at a time; its models are loaded with the first."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._lock = threading.Lock()

    def read(self, pixels: Pixels) -> list[list[SeenWord]]:
        """The words of each line of text in the picture, from the top down."""
        with self._lock:
            if self._engine is None:
                self._engine = _load()
            result = self._engine(np.ascontiguousarray(pixels[:, :, ::-1]), return_word_box=True)
        lines = _lines(result)
        return sorted((line for line in lines if line), key=lambda line: line[0].top)


def _load() -> Any:
    # Here and not above: the extra may be missing, and loading it takes seconds.
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error"})


def _lines(result: Any) -> Iterator[list[SeenWord]]:
    """The engine's answer, line by line; where it gives no boxes for words, they share the box of their line."""
    if not result.txts:
        return
    details = result.word_results if len(result.word_results) == len(result.txts) else [()] * len(result.txts)
    for text, corners, sure, words in zip(result.txts, result.boxes, result.scores, details, strict=True):
        placed = [_word(entry[0], entry[2], float(entry[1])) for entry in words if _is_placed(entry)]
        if "".join(word.text for word in placed) == "".join(text.split()):
            yield placed
        else:
            yield list(_shared(_word(text, corners, float(sure))))


def _is_placed(entry: Any) -> bool:
    """Whether the engine's entry is a word with its confidence and four corners."""
    return isinstance(entry, tuple | list) and len(entry) == 3 and bool(entry[2]) and bool(str(entry[0]).strip())


def _word(text: str, corners: Any, sure: float) -> SeenWord:
    across, down = [float(x) for x, _ in corners], [float(y) for _, y in corners]
    return SeenWord(text.strip(), min(across), min(down), max(across), max(down), sure)


def _shared(line: SeenWord) -> Iterator[SeenWord]:
    """The words of a line, each with its share of the box."""
    step = (line.right - line.left) / max(1, len(line.text))
    for match in re.finditer(r"\S+", line.text):
        left, right = line.left + step * match.start(), line.left + step * match.end()
        yield SeenWord(match.group(), left, line.top, right, line.bottom, line.sure)
