"""Sees statements with the eyes of a question: what each holds of it, and the titles and sentences round it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from citewell.answer.cues_fitting import GIVEN_DOSE, REFERS_TO_DOSE, WEIGHS
from citewell.answer.statements import Kind, Piece, Statement, statements
from citewell.answer.verify_read import is_light
from citewell.answer.wanted import ALIKE, Held, Wanted, beyond
from citewell.types import Evidence, Hit, Near

LOOKED_UP: frozenset[Kind] = frozenset({"row", "list", "recommendation"})
"""Kinds that a person goes to with a number, such as an age or a laboratory result."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A statement with what it and the titles above it hold of the question, and how near it is."""

    statement: Statement
    hit: Hit
    parts: tuple[Held, ...]
    """A list is as good as its best item with the lead-in: words scattered over many items answer nothing."""
    opens: bool
    """It is the first below the heading that stands in its passage."""
    heading: Held
    titles: Held
    before: Held
    """What the sentences before it in its paragraph hold."""
    nearness: float
    heading_nearness: float
    dose: Statement | None = None
    """The statement that gives the dose of which it only speaks."""

    def with_dose(self) -> Seen:
        """The same, where its statement brings the one that gives the dose."""
        return replace(self, statement=replace(self.statement, previous=self.dose)) if self.dose else self

    def saying(self, words: Held) -> Seen:
        """The same, where it says these words by others: a medicine, of the class that is asked for."""
        return replace(self, parts=tuple(part | {ALIKE + word for word in words - part} for part in self.parts))


def seen(evidence: Evidence, asked: Wanted) -> Iterator[Seen]:
    """The statements of a passage as the question sees them."""
    near = evidence.hit.why.near
    asked = asked.also(evidence.hit.why.same)
    about = asked.titled(evidence.hit.document)
    titles: dict[tuple[str, ...], tuple[Held, Held]] = {}
    said: list[tuple[Statement, Held]] = []
    last: Piece | None = None
    for one, dose in _with_doses(statements(evidence)):
        if one.titles and asked.is_of_another(one.titles[-1]):
            continue
        if one.titles not in titles:
            inner = one.titles[-1] if one.titles and one.titles[-1] != evidence.hit.document else ""
            titles[one.titles] = asked.held(inner), about | asked.held("\n".join(one.titles))
        parts = tuple(asked.held(text, is_looked_up=one.kind in LOOKED_UP) for text in part_texts(one))
        if one.kind != "sentence" or not said or one.pieces[0][0] - said[-1][0].pieces[-1][1] > 1:
            said = []
        yield Seen(
            _with_name(one, said, frozenset().union(*parts, *titles[one.titles])) if asked.asks_number else one,
            evidence.hit,
            parts,
            one.heading is not None and one.heading != last,
            *titles[one.titles],
            frozenset[str]().union(*(held for _, held in said)),
            _nearness(one.pieces, near, evidence.hit.raw_cosine),
            _nearness([one.heading] if one.heading else [], near, 0.0),
            dose,
        )
        said.append((one, frozenset().union(*parts)))
        last = one.heading


def _with_doses(found: Sequence[Statement]) -> Iterator[tuple[Statement, Statement | None]]:
    """Statements, those that only speak of “this dose” or “start again” with the one of their section that gives it."""
    giving: list[Statement] = []
    for one in found:
        given = [other for other in giving if other.titles == one.titles]
        # what was worked out for one person is no one else's
        plain = [other for other in given if not WEIGHS.search(other.text)]
        yield one, (plain or given)[-1] if given and _leaves_dose_open(one) else None
        giving += [one] if GIVEN_DOSE.search(one.text) else []


def _leaves_dose_open(one: Statement) -> bool:
    """Whether it speaks of a dose that neither it nor the sentence that it leans on gives."""
    refers = REFERS_TO_DOSE.search(one.text)
    if refers is None or GIVEN_DOSE.search(one.text, 0, refers.start()):
        return False
    return one.previous is None or GIVEN_DOSE.search(one.previous.text) is None


def _with_name(one: Statement, said: Sequence[tuple[Statement, Held]], held: Held) -> Statement:
    """A statement with the sentence of its paragraph that names what its number is of, where it does not itself."""
    if one.previous is not None or not any(letter.isdigit() for letter in one.text):
        return one
    naming = [before for before, named in reversed(said) if any(not is_light(word) for word in beyond(named, held))]
    # one that gives a number itself speaks of somebody else: “Who takes none has an INR of about 1”
    plain = [before for before in naming if not any(letter.isdigit() for letter in before.text)]
    return replace(one, previous=next(iter((*plain, *naming)))) if naming else one


def part_texts(statement: Statement) -> list[str]:
    """Each item of a list with its lead-in; else the statement alone."""
    lead, *items = statement.lines
    return [f"{lead}\n{item}" for item in items] or [lead]


def _nearness(pieces: Sequence[Piece], near: Sequence[Near], otherwise: float) -> float:
    """The cosine of the nearest sentence that lies in the pieces for the most part."""
    inside = (
        cosine
        for start, end, cosine in near
        if any(2 * (min(end, last) - max(start, first)) >= end - start for first, last in pieces)
    )
    return max(inside, default=otherwise)
