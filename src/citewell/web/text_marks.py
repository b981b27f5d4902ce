"""Puts marks round exact spans of a text; everything else is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Layer:
    """Spans to be wrapped in one element; layers named first lie outside."""

    opening: Markup
    closing: Markup
    spans: tuple[Span, ...]


def words(spans: Iterable[Span]) -> Layer:
    """Words that were looked for."""
    return Layer(Markup("<mark>"), Markup("</mark>"), tuple(spans))


def best(span: Span | None) -> Layer:
    """The sentence nearest to the question."""
    return Layer(Markup('<strong class="best">'), Markup("</strong>"), () if span is None else (span,))


def passage(span: Span | None) -> Layer:
    """The passage that was found, within a longer text."""
    return Layer(Markup('<span class="passage">'), Markup("</span>"), () if span is None else (span,))


def marked(text: str, *layers: Layer, start: int = 0, end: int | None = None) -> Markup:
    """The part of a text from `start` to `end` as HTML, with every layer's spans wrapped; offsets are those of `text`.

    >>> print(marked("iron < 5 g", words([(0, 4)])))
    <mark>iron</mark> &lt; 5 g
    >>> print(marked("Give iron. Stop.", best((0, 10)), words([(5, 9)])))
    <strong class="best">Give <mark>iron</mark>.</strong> Stop.
    """
    return Markup("").join(_pieces(text, start, len(text) if end is None else end, layers))


def _pieces(text: str, start: int, end: int, layers: Sequence[Layer]) -> list[Markup]:
    if not layers:
        return [escape(text[start:end])]
    outer, inner = layers[0], layers[1:]
    found: list[Markup] = []
    position = start
    for span_start, span_end in outer.spans:
        low, high = max(span_start, position), min(span_end, end)
        if low < high:
            found += _pieces(text, position, low, inner)
            found += [outer.opening, *_pieces(text, low, high, inner), outer.closing]
            position = high
    return found + _pieces(text, position, end, inner)
