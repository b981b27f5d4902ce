"""A prompt is a text file with named holes; its hash travels with the answer."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

_HOLE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True, slots=True)
class Template:
    """The text of a prompt.

    >>> Template("Answer in {{language}}.").filled(language="French {{x}}")
    'Answer in French {{x}}.'
    """

    text: str

    @classmethod
    def read(cls, path: Path) -> Template:
        """The prompt in a file."""
        return cls(path.read_text("utf-8").strip())

    @property
    def hash(self) -> str:
        """The SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def filled(self, **values: str) -> str:
        """The text with every hole filled, once: what is put in is never read as a prompt."""
        return _HOLE.sub(lambda hole: values[hole[1]], self.text)
