"""Reads what a model says of its own reply, BOUNDARY_CHECK, and decides what the reply is whatever it says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from citewell.assistants.records.tables import rows
from citewell.clinical.languages import spelled, whole_words


class Boundary(StrEnum):
    """What a reply does; only one that explains, makes aware or prepares may be shown."""

    UNDERSTANDING = "understanding"
    AWARENESS = "awareness"
    PREPARATION = "preparation"
    NO_CONTEXT = "no_context"
    """The record holds nothing to answer from, and the reply says so."""
    OUT_OF_BOUNDS = "out_of_bounds"


REGENERATIONS = 2
"""How often a reply that is out of bounds is written again before the calm words take its place."""


@dataclass(frozen=True, slots=True)
class DeclaredReply:
    """What a model said of its reply, and the reply without it."""

    boundary: Boundary
    text: str
    is_stated: bool


_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LINE = re.compile(
    r"^[ \t]*+(?:[`*_#>\-\[\"'(]++[ \t]*+)?BOUNDARY[ \t_-]*CHECK[`*_\]\"')]*"
    r"(?:\s*[:=]\s*+|[ \t]+[–—-][ \t]++)[`*_\[\"'(<]*+[ \t]*+"
    r"(?P<values>[a-z][a-z_]*(?:[ -]of[ -]bounds|[ -]context)?(?:[\s`*_\"']*[|/,][\s`*_\"']*[a-z][a-z_]*)*)"
    r"[ \t]*[`*_\]\"')>.]*[ \t]*(?:\n+|(?=\S)|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
"""The line in the ways that models write it: bold, quoted, in brackets, several values, text on the same line."""
_INSIDE = re.compile(r"(?:(?<![ \t])[ \t]+)?BOUNDARY_CHECK\b[ \t]*+(?::[ \t]*+)?\w*", re.IGNORECASE)
_FENCE = re.compile(r"\A(?:\s*```[a-z]*[ \t]*\n)?\s*", re.IGNORECASE)


def parse_boundary(reply: str) -> DeclaredReply:
    """What a reply declares; a reply that declares nothing is out of bounds, and so is a value that does not exist.

    >>> parse_boundary("BOUNDARY_CHECK: understanding\\nYour documents show that…")
    DeclaredReply(boundary=<Boundary.UNDERSTANDING: 'understanding'>, text='Your documents show that…', is_stated=True)
    >>> parse_boundary("Some random response").boundary
    <Boundary.OUT_OF_BOUNDS: 'out_of_bounds'>
    """
    body = _THOUGHT.sub("", reply.replace("\r\n", "\n"))
    line = _LINE.match(_FENCE.sub("", body, count=1))
    if line is None:
        return DeclaredReply(Boundary.OUT_OF_BOUNDS, without_lines(body), is_stated=False)
    rest = line.string[line.end() :].removeprefix("```").strip()
    return DeclaredReply(_strictest(line["values"]), without_lines(rest), is_stated=True)


def without_lines(text: str) -> str:
    """A reply without lines that were meant for the program, wherever they stand."""
    return _INSIDE.sub("", _LINE.sub("", text)).strip()


def _strictest(values: str) -> Boundary:
    """The value that was named, the first of several; out of bounds where one of them is."""
    named = [re.sub(r"[\s-]+", "_", one.strip("`*_\"' \t\n").casefold()) for one in re.split(r"[|/,]", values)]
    known = [Boundary(one) for one in named if one in set(Boundary)]
    is_out = len(known) < len(named) or Boundary.OUT_OF_BOUNDS in known
    return Boundary.OUT_OF_BOUNDS if is_out else known[0]


@cache
def _cues() -> tuple[tuple[Boundary, re.Pattern[str]], ...]:
    return tuple((Boundary(name), whole_words(pattern)) for name, _, pattern in rows("boundaries.tsv"))


def judge(text: str) -> Boundary:
    """What a reply does by its own words; the first row of the table that fits.

    >>> judge("As your doctor, I have looked at this."), judge("Your documents show a dose of 5 mg.")
    (<Boundary.OUT_OF_BOUNDS: 'out_of_bounds'>, <Boundary.UNDERSTANDING: 'understanding'>)
    """
    plain = spelled(text)
    return next((boundary for boundary, cue in _cues() if cue.search(plain)), Boundary.UNDERSTANDING)


def decide(declared: DeclaredReply) -> Boundary:
    """The boundary that counts: the reply's own words first, then what was declared of it."""
    judged = judge(declared.text)
    is_out = judged is Boundary.OUT_OF_BOUNDS
    return judged if is_out or not declared.is_stated else declared.boundary
