"""Reads words from pictures of text with the OCR extra."""

from __future__ import annotations

import importlib.util
import threading
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
        lines = [_line(words) for words in result.word_results or ()]
        return sorted((line for line in lines if line), key=lambda line: line[0].top)


def _load() -> Any:
    # Here and not above: the extra may be missing, and loading it takes seconds.
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error"})


def _line(words: Any) -> list[SeenWord]:
    """One line of the engine's answer: text, confidence and four corners for each word, or nothing for a blank."""
    line = []
    for text, _, corners in filter(None, words):
        if text.strip():
            across, down = [float(x) for x, _ in corners], [float(y) for _, y in corners]
            line.append(SeenWord(text.strip(), min(across), min(down), max(across), max(down)))
    return line
