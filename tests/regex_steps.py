"""Counts the steps that a backtracking matcher takes over a text, so that growth can be seen without a clock.

The matcher walks the parse tree of Python's own `re` in the order in which `re` does; every character or position that
is looked at counts as one step. It knows no shortcut that `re` takes for a literal prefix, so it never counts less.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Literal

Continue = Callable[[int], bool]
Match = Callable[[int, Continue], bool]

ODD = "\x01"
"""What ends a text: a sign that hardly any pattern asks for."""
UNBOUNDED = 60
"""A repetition that may go on for more than this is pumped."""
DEEP = 200_000


Use = Literal["find", "match", "fullmatch"]


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Let the matcher call itself as often as a text has characters."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class TooManySteps(Exception):
    """More steps than anyone needs to see that they grow."""


class Steps:
    """A pattern that counts the steps of looking for all of its matches in a text."""

    def __init__(self, pattern: re.Pattern[str], *, limit: int = 600_000) -> None:
        self._limit, self._count, self._text = limit, 0, ""
        self.tree = _parser.parse(pattern.pattern, pattern.flags)
        self._flags = self.tree.state.flags
        self._groups: dict[int, tuple[int, int]] = {}
        self._match = self._sequence(self.tree, self._flags)

    def taken(self, text: str, use: Use) -> int:
        """How many steps a use of the pattern takes: to find all matches, or to match the beginning or the whole."""
        if use == "find":
            return self._finding_all(text)
        self._count, self._text, self._groups = 0, text, {}
        with deep_recursion():
            try:
                self._match(0, lambda after: use == "match" or after == len(text))
            except TooManySteps:
                return self._limit
        return self._count

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The matches that it finds, to be held against those of `re`."""
        self._finding_all(text)
        return self._spans

    def _finding_all(self, text: str) -> int:
        self._spans: list[tuple[int, int]] = []
        self._count, self._text = 0, text
        at, end = 0, -1

        def reached(where: int) -> bool:
            nonlocal end
            end = where
            return True

        with deep_recursion():
            try:
                while at <= len(text):
                    self._groups = {}
                    if self._match(at, reached):
                        self._spans.append((at, end))
                        at = max(end, at + 1)
                    else:
                        at += 1
            except TooManySteps:
                return self._limit
        return self._count

    def _step(self) -> None:
        self._count += 1
        if self._count > self._limit:
            raise TooManySteps

    # ------------------------------------------------------------------------------------------------ the parts

    def _sequence(self, items: Any, flags: int) -> Match:
        parts = [self._part(kind, value, flags) for kind, value in items]

        def match(at: int, go_on: Continue) -> bool:
            return run(0, at, go_on)

        def run(index: int, at: int, go_on: Continue) -> bool:
            if index == len(parts):
                return go_on(at)
            if index == len(parts) - 1:
                return parts[index](at, go_on)
            return parts[index](at, lambda after: run(index + 1, after, go_on))

        return match

    def _part(self, kind: Any, value: Any, flags: int) -> Match:
        names = {
            _constants.BRANCH: self._branch,
            _constants.SUBPATTERN: self._subpattern,
            _constants.MAX_REPEAT: self._repeat,
            _constants.MIN_REPEAT: self._lazy,
            _constants.POSSESSIVE_REPEAT: self._possessive,
            _constants.ATOMIC_GROUP: self._atomic,
            _constants.ASSERT: self._ahead,
            _constants.ASSERT_NOT: self._not_ahead,
            _constants.AT: self._at,
            _constants.GROUPREF: self._reference,
            _constants.GROUPREF_EXISTS: self._conditional,
        }
        return names[kind](value, flags) if kind in names else self._character((kind, value), flags)

    def _character(self, node: Any, flags: int) -> Match:
        fits = character_test(self.tree, node, flags)

        def match(at: int, go_on: Continue) -> bool:
            self._step()
            return at < len(self._text) and fits(self._text[at]) and go_on(at + 1)

        return match

    def _branch(self, value: Any, flags: int) -> Match:
        ways = [self._sequence(way, flags) for way in value[1]]
        opens = [first_test(self.tree, way, flags) for way in value[1]]

        def match(at: int, go_on: Continue) -> bool:
            self._step()
            sign = self._text[at : at + 1]
            may_open = (way for way, may in zip(ways, opens, strict=True) if may is None or (sign and may(sign)))
            return any(way(at, go_on) for way in may_open)

        return match

    def _subpattern(self, value: Any, flags: int) -> Match:
        number, added, removed, items = value
        inner = self._sequence(items, (flags | added) & ~removed)
        if number is None:
            return inner

        def match(at: int, go_on: Continue) -> bool:
            before = self._groups.get(number)

            def closed(after: int) -> bool:
                held = self._groups.get(number)
                self._groups[number] = (at, after)
                if go_on(after):
                    return True
                self._put_back(number, held)
                return False

            if inner(at, closed):
                return True
            self._put_back(number, before)
            return False

        return match

    def _put_back(self, number: int, held: tuple[int, int] | None) -> None:
        if held is None:
            self._groups.pop(number, None)
        else:
            self._groups[number] = held

    def _single(self, items: Any, flags: int) -> Callable[[str], bool] | None:
        """The test of a repetition over one character, which needs no recursion."""
        if len(items) != 1 or items[0][0] not in CHARACTERS:
            return None
        return character_test(self.tree, items[0], flags)

    def _run(self, fits: Callable[[str], bool], at: int, most: int) -> int:
        end = at
        while end < len(self._text) and end - at < most and fits(self._text[end]):
            self._step()
            end += 1
        self._step()
        return end

    def _repeat(self, value: Any, flags: int) -> Match:
        least, most, items = value
        fits = self._single(items, flags)
        if fits is not None:

            def single(at: int, go_on: Continue) -> bool:
                end = self._run(fits, at, most)
                while end - at >= least:
                    self._step()
                    if go_on(end):
                        return True
                    end -= 1
                return False

            return single
        inner = self._sequence(items, flags)

        def match(at: int, go_on: Continue, done: int = 0) -> bool:
            self._step()

            def again(after: int) -> bool:
                return (after > at or done < least) and match(after, go_on, done + 1)

            if done < most and inner(at, again):
                return True
            return done >= least and go_on(at)

        return match

    def _lazy(self, value: Any, flags: int) -> Match:
        least, most, items = value
        inner = self._sequence(items, flags)

        def match(at: int, go_on: Continue, done: int = 0) -> bool:
            self._step()
            if done >= least and go_on(at):
                return True
            return done < most and inner(at, lambda after: after > at and match(after, go_on, done + 1))

        return match

    def _possessive(self, value: Any, flags: int) -> Match:
        least, most, items = value
        fits = self._single(items, flags)
        inner = self._sequence(items, flags)

        def match(at: int, go_on: Continue) -> bool:
            if fits is not None:
                end = self._run(fits, at, most)
                return end - at >= least and go_on(end)
            done, where = 0, at
            while done < most:
                self._step()
                after = self._alone(inner, where)
                if after is None or (after == where and done >= least):
                    break
                where, done = after, done + 1
            return done >= least and go_on(where)

        return match

    def _alone(self, inner: Match, at: int) -> int | None:
        """Where the first way of matching ends, with nothing after it."""
        end: int | None = None

        def reached(where: int) -> bool:
            nonlocal end
            end = where
            return True

        return end if inner(at, reached) else None

    def _atomic(self, items: Any, flags: int) -> Match:
        inner = self._sequence(items, flags)

        def match(at: int, go_on: Continue) -> bool:
            end = self._alone(inner, at)
            return end is not None and go_on(end)

        return match

    def _look(self, value: Any, flags: int, *, wanted: bool) -> Match:
        direction, items = value
        inner = self._sequence(items, flags)
        back = items.getwidth()[0] if direction < 0 else 0

        def match(at: int, go_on: Continue) -> bool:
            self._step()
            found = at >= back and self._alone(inner, at - back) is not None
            return found is wanted and go_on(at)

        return match

    def _ahead(self, value: Any, flags: int) -> Match:
        return self._look(value, flags, wanted=True)

    def _not_ahead(self, value: Any, flags: int) -> Match:
        return self._look(value, flags, wanted=False)

    def _at(self, value: Any, flags: int) -> Match:
        def match(at: int, go_on: Continue) -> bool:
            self._step()
            return is_at(value, flags, self._text, at) and go_on(at)

        return match

    def _reference(self, value: Any, _flags: int) -> Match:
        def match(at: int, go_on: Continue) -> bool:
            self._step()
            if value not in self._groups:
                return False
            start, end = self._groups[value]
            said = self._text[start:end]
            return self._text.startswith(said, at) and go_on(at + len(said))

        return match

    def _conditional(self, value: Any, flags: int) -> Match:
        number, yes, no = value
        met, unmet = self._sequence(yes, flags), self._sequence(no or [], flags)

        def match(at: int, go_on: Continue) -> bool:
            return (met if number in self._groups else unmet)(at, go_on)

        return match


CHARACTERS = frozenset({_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN})


def is_at(where: Any, flags: int, text: str, at: int) -> bool:
    """Whether a position is what an anchor asks for."""
    is_multiline = bool(flags & re.MULTILINE)
    if where in (_constants.AT_BEGINNING, _constants.AT_BEGINNING_STRING):
        is_line = is_multiline and where is _constants.AT_BEGINNING
        return at == 0 or (is_line and text[at - 1] == "\n")
    if where is _constants.AT_END_STRING:
        return at == len(text)
    if where is _constants.AT_END:
        return at == len(text) or text[at:] == "\n" or (is_multiline and text[at] == "\n")
    is_edge = _is_word(text[at - 1 : at] if at else "") != _is_word(text[at : at + 1])
    return is_edge is (where is _constants.AT_BOUNDARY)


def _is_word(sign: str) -> bool:
    return bool(sign) and (sign.isalnum() or sign == "_")


def character_test(tree: Any, node: Any, flags: int) -> Callable[[str], bool]:
    """Whether a character fits a part that takes one, as `re` itself decides; remembered for each character."""
    one = _parser.SubPattern(_state(flags), [node])
    compiled = _compiler.compile(one, flags & ~re.DEBUG)

    @lru_cache(None)
    def fits(sign: str) -> bool:
        return compiled.fullmatch(sign) is not None

    return fits


def _state(flags: int) -> Any:
    state = _parser.State()
    state.flags, state.str = flags, ""
    return state


def first_test(tree: Any, items: Any, flags: int) -> Callable[[str], bool] | None:
    """Whether an alternative may open with a character; None where it cannot be said at a glance."""
    if items and items[0][0] in CHARACTERS:
        return character_test(tree, items[0], flags)
    if items and items[0][0] is _constants.SUBPATTERN and items[0][1][3]:
        _, added, removed, inner = items[0][1]
        return first_test(tree, inner, (flags | added) & ~removed)
    return None


# ------------------------------------------------------------------------------------------------ texts that provoke


class Sampler:
    """Draws texts that a pattern nearly matches: what stands before each repetition, and what it repeats."""

    def __init__(self, tree: Any, seed: int) -> None:
        self._tree, self._dice = tree, random.Random(seed)
        self.pumps: list[tuple[str, str]] = []

    def sample(self) -> str:
        """A text that follows the pattern; each repetition met on the way is noted with what came before it."""
        return self._sequence(self._tree, "")

    def _sequence(self, items: Any, before: str) -> str:
        said = ""
        for kind, value in items:
            said += self._part(kind, value, before + said)
        return said

    def _part(self, kind: Any, value: Any, before: str) -> str:  # noqa: PLR0911 -- one for each kind of part
        if kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            least, most, items = value
            piece = self._sequence(items, before)
            if most > UNBOUNDED and piece:
                self.pumps.append((before, piece))
            return piece * (least or self._dice.randint(0, 1))
        if kind is _constants.BRANCH:
            return self._sequence(self._dice.choice(value[1]), before)
        if kind is _constants.SUBPATTERN:
            return self._sequence(value[3], before)
        if kind is _constants.ATOMIC_GROUP:
            return self._sequence(value, before)
        if kind is _constants.LITERAL:
            return chr(value)
        if kind is _constants.ANY:
            return "x"
        if kind is _constants.NOT_LITERAL:
            return "x" if value != ord("x") else "y"
        if kind is _constants.IN:
            return self._of(value)
        return ""

    def _of(self, choices: Any) -> str:
        fits = character_test(self._tree, (_constants.IN, choices), self._tree.state.flags)
        literal = [chr(value) for kind, value in choices if kind is _constants.LITERAL]
        known = [sign for sign in (*literal, *"a1 -.,xZ\u00a0\n(αé") if fits(sign)]
        return self._dice.choice(known) if known else ""


def provocations(pattern: re.Pattern[str], *, samples: int = 4) -> Iterator[tuple[str, str, str]]:
    """Texts that may cost a pattern much, as (before, repeated, after)."""
    steps = _parser.parse(pattern.pattern, pattern.flags)
    seen: set[tuple[str, str]] = set()
    for seed in range(samples):
        sampler = Sampler(steps, seed)
        whole = sampler.sample()
        cut = whole[: max(1, 2 * len(whole) // 3)]
        for before, piece in [*sampler.pumps, ("", whole + " "), ("", cut + " ")]:
            if (before, piece) not in seen:
                seen.add((before, piece))
                yield before, piece, ODD
                if before:
                    yield "", before + piece, ODD


COMMON = (
    *(
        " ",
        "\u00a0",
        "\n",
        " \n",
        "1",
        "a",
        "A",
        ".",
        ". ",
        "1 mg ",
        "10% ",
        "[1] ",
        "no ",
        "not ",
        "((",
        "[(",
        "1,",
        "1.",
    ),
    *("a.", "a-", "- ", "-", "and ", "or ", "3 years ", "1/", ", ", '"a" ', "a ", "1 ", "x, ", "\u2014"),
)
"""What is repeated for every pattern, beside what nearly matches it."""
LENGTHS = (64, 128)
LONGER = (512, 1_024)
"""Where a repetition that is bounded by some hundreds no longer looks like one without a bound."""
TOO_MANY = 600_000
"""Steps beyond which nobody needs to look further."""
TRIVIAL = 4
"""So few steps for each character are a look at each."""


def growth(pattern: re.Pattern[str], use: Use) -> str | None:
    """A text on which twice the length takes far more than twice the steps; None where none was found."""
    fragments = [*(("", one, ODD) for one in COMMON), *provocations(pattern)]
    steps = Steps(pattern, limit=TOO_MANY)
    for before, piece, after in fragments:
        short = steps.taken(_text(before, piece, after, LENGTHS[0]), use)
        if short <= TRIVIAL * LENGTHS[0]:
            continue
        is_more = short >= TOO_MANY or steps.taken(_text(before, piece, after, LENGTHS[1]), use) > 2.4 * short
        if is_more and _keeps_growing(steps, (before, piece, after), use):
            return f"{before!r} + {piece!r} × n + {after!r}"
    return None


def _keeps_growing(steps: Steps, parts: tuple[str, str, str], use: Use) -> bool:
    few = steps.taken(_text(*parts, LONGER[0]), use)
    many = TOO_MANY if few >= TOO_MANY else steps.taken(_text(*parts, LONGER[1]), use)
    return many >= TOO_MANY or many > 2.7 * few


def _text(before: str, piece: str, after: str, length: int) -> str:
    return before + piece * max(1, (length - len(before)) // len(piece)) + after
