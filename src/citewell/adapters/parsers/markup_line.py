"""One line of text in the making."""

from __future__ import annotations

import re

from citewell.ingest.decode import clean

_ORDINAL = re.compile(r"(?:st|nd|rd|th|[®™©°*†‡§¶#|]+)\Z", re.IGNORECASE)
_ISOTOPE = re.compile(r"\d{1,3}m?\Z")
_ELEMENT_SYMBOL = re.compile(r"\]?[A-Z][a-z]?(?![a-z])")


class Inline:
    """One line of text in the making: white space collapsed, superscripts and subscripts spelled out.

    >>> line = Inline()
    >>> line.write("about 10")
    >>> line.superscript("9", following="/l")
    >>> line.write("/l  H")
    >>> line.subscript("2")
    >>> line.write("O")
    >>> line.take()
    'about 10^9/l H_2O'
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._space = False
        self._gap = False

    def write(self, text: str | None) -> None:
        """Append text; runs of white space become one space."""
        text = clean(text or "")
        words = text.split()
        if not words:
            self._space = self._space or bool(text)
            return
        if self._pieces and (self._space or text[0].isspace() or self._gap_shows(words[0][0])):
            self._pieces.append(" ")
        self._pieces.append(" ".join(words))
        self._space, self._gap = text[-1].isspace(), False

    def space(self) -> None:
        """A space, as if it had been written."""
        self._space = True

    def gap(self) -> None:
        """Keep what follows from growing onto the word before; punctuation may still touch it."""
        self._gap = True

    def _gap_shows(self, following: str) -> bool:
        return self._gap and self._pieces[-1][-1] not in "([{/–—-‐'’“‘" and following not in ",.;:)]}/–—-‐'’”?!%"

    @property
    def is_bracketed(self) -> bool:
        """Whether a bracket is open at the end of the line."""
        recent = "".join(self._pieces[-24:])[-200:]
        return recent.rfind("[") > recent.rfind("]") or recent.rfind("(") > recent.rfind(")")

    @property
    def last(self) -> str:
        """The last character, a space when one is due, nothing at the start."""
        if not self._pieces:
            return ""
        return " " if self._space else self._pieces[-1][-1]

    def superscript(self, text: str, *, following: str, citation: bool = False) -> None:
        """10⁹ as 10^9, a citation in brackets; a mark before its word keeps clear of it."""
        text, spaced = text.strip(), text != text.rstrip()
        if not text:
            return
        if citation:
            self.write(text if text.startswith(("[", "(")) else f"[{text}]")
        elif _ORDINAL.match(text) or self._is_isotope(text, following):
            self.write(text)
        elif self.last.strip():
            self.write("^" + _grouped(text))
        else:
            # A mark before its word, as in a table's notes, must not become part of the word.
            self.write(f"{'^' if self.last else ''}{text} ")
        if spaced:
            self.space()

    def _is_isotope(self, text: str, following: str) -> bool:
        """Whether a raised number belongs to the symbol after it, as in ⁹⁹ᵐTc, not to the word before it."""
        stands_apart = not self.last.isalnum() and self.last not in (")", "]")
        return bool(stands_apart and _ISOTOPE.match(text) and _ELEMENT_SYMBOL.match(following))

    def subscript(self, text: str) -> None:
        """H₂O as H_2O."""
        text, spaced = text.strip(), text != text.rstrip()
        if text:
            self.write("_" + _grouped(text) if self.last.strip() else text)
        if spaced:
            self.space()

    def take(self) -> str:
        """The line so far; the next one starts empty."""
        line = "".join(self._pieces)
        self._pieces, self._space, self._gap = [], False, False
        return line


def _grouped(text: str) -> str:
    return f"({text})" if " " in text else text
