"""How likely a statement is to answer a question: a sum of log-odds, and what it takes them from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.answer.amounts import states
from citewell.answer.cues import DEFINES, EXAMPLE, HEADING_NUMBER, NOT_DEFINING, TO_THE_READER, TOLD
from citewell.answer.cues_fitting import CHANGES, GLOSSARY, HISTORY, IN_CASE, NOT_DONE, NOT_THE_CASE, SAYS_OF
from citewell.answer.cues_telling import (
    DELIBERATES,
    ENLARGES,
    EXPLAINS,
    FINDS,
    PURPOSE,
    RECOMMENDED_IN,
    RECOMMENDS,
    weighings,
)
from citewell.answer.of_medicines import names_any, names_one, says_one
from citewell.answer.seen import Seen, part_texts
from citewell.answer.statements import Statement, is_dose
from citewell.answer.wanted import ALIKE, NUMBERED, Held, Wanted, asked_by, beyond
from citewell.answer.weights import WEIGHTS
from citewell.clinical.medicines import Medicine
from citewell.words import terms

MAX_OTHER_WORDS = 2
"""Words of a defined subject that the question does not have."""
MIN_HEADED = 0.9
"""The part of a question for what a thing is that a heading must hold to be its name."""
MIN_WORDS_OF_COLUMN = 2
"""Words of a question for what a thing is that the head of a column must hold: “severe dehydration”."""
MAX_OTHER_NAMES = 5
"""The same where several names are given: “is called the international normalised ratio, or INR”."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A statement, the log-odds that it answers, what it holds of the question, and whether it defines its subject."""

    statement: Statement
    odds: float
    plain_odds: float
    """The same without what it gains as a recommendation: what does not answer is not shown because it recommends."""
    held: Held
    above: Held
    """What the titles above it hold, and the sentences before it."""
    heading: Held
    """What the heading next above it holds."""
    defines: bool


def scored(one: Seen, asked: Wanted, named: Sequence[Medicine]) -> Scored:
    """A statement with the log-odds that it answers."""
    text = one.statement.text
    number = max(range(len(one.parts)), key=lambda at: asked.part(one.parts[at]))
    held, best = one.parts[number], part_texts(one.statement)[number]
    defines = (asked.asks_what or asked.asks_which) and (_defines(one.statement, asked) or _is_headed(one, asked))
    odds = (
        WEIGHTS.bias
        + WEIGHTS.nearness * one.nearness
        + WEIGHTS.near_heading * max(0.0, one.heading_nearness - one.nearness)
        + WEIGHTS.coverage * asked.part(held)
        + WEIGHTS.heading * asked.part(beyond(one.heading, held))
        + WEIGHTS.titles * asked.part(beyond(one.titles, held, one.heading))
        + WEIGHTS.before * asked.part(beyond(one.before, held, one.heading, one.titles))
        + WEIGHTS.relevance * one.hit.relevance
        + WEIGHTS.finding * (not asked.asks_advice and bool(FINDS.search(text)))
        + WEIGHTS.purpose * bool(PURPOSE.search(text))
        + WEIGHTS.cue * any(cue.answers.search(best) for cue in asked.cues)
        + WEIGHTS.told * any(cue.name in TOLD and cue.answers.search(text) for cue in asked.cues)
        + WEIGHTS.no_number * any(cue.name in NUMBERED and not cue.answers.search(best) for cue in asked.cues)
        + WEIGHTS.told * (not beyond(asked.timed, held) and _tells_time(best, asked))
        + WEIGHTS.no_number * bool(beyond(asked.timed, held, one.heading, one.titles))
        + WEIGHTS.deliberates * (asked.asks_to_do and _deliberates(text, asked))
        + WEIGHTS.explains * (asked.asks_advice and _explains(one.statement))
        + WEIGHTS.unnamed * (not names_one(one.statement, one.hit.document, named) and not says_one(held, named))
        + WEIGHTS.cue * (asked.asks_medicine and names_any(best))
        + WEIGHTS.no_number * (asked.asks_medicine and not names_any(best))
        + WEIGHTS.asked_alike * _asks_alike(one, asked)
        + WEIGHTS.example * (asked.is_question and any(EXAMPLE.search(title) for title in one.statement.titles))
        + WEIGHTS.looked_up * (one.statement.kind == "row" and _is_looked_up(text, held, asked))
        + WEIGHTS.history * (not asked.asks_changes and _is_history(one.statement))
        + WEIGHTS.in_case * _is_in_case(best, asked)
        + WEIGHTS.to_reader * (asked.is_of_oneself and bool(TO_THE_READER.search(text)))
        + WEIGHTS.glossary * (not asked.asks_what and _is_of_glossary(one.statement))
        + WEIGHTS.definition * _says_of(text, asked)
        + WEIGHTS.kind * _is_of_kind(one, asked)
        + (WEIGHTS.definition if defines else WEIGHTS.no_definition * asked.asks_what)
    )
    above = one.heading | one.titles | (one.before if asked.is_question else frozenset())
    gain = WEIGHTS.recommends * (asked.asks_to_do and _recommends(one.statement))
    return Scored(one.statement, odds + gain, odds, held, above, one.heading, defines)


def _is_of_glossary(statement: Statement) -> bool:
    """Whether it says what a word means, or stands where words are explained."""
    return statement.kind == "term" or any(GLOSSARY.search(title) for title in statement.titles[-1:])


def _asks_alike(one: Seen, asked: Wanted) -> int:
    """Whether the heading that speaks of the question asks by the same word (1), by another (-1), or by none (0)."""
    theirs = asked_by(one.statement.titles[-1]) if one.heading and one.statement.titles else ""
    return 0 if not theirs or not asked.asks_by else 1 if theirs == asked.asks_by else -1


def _is_looked_up(text: str, held: Held, asked: Wanted) -> bool:
    """Whether a row gives the very amount of the question, or the range of what the question gives a result of."""
    return any(states(text, given) for given in asked.amounts) or not held.isdisjoint(asked.results)


def _is_in_case(text: str, asked: Wanted) -> bool:
    """Whether it says what is done in the case that the question supposes, and does not only mention that."""
    if not asked.supposed:
        return False
    cases = (asked.held(NOT_THE_CASE.sub(" ", found["case"])) for found in IN_CASE.finditer(text))
    return any(asked.supposed <= {word.removeprefix(ALIKE) for word in held} for held in cases)


def _tells_time(text: str, asked: Wanted) -> bool:
    """Whether it tells when that is done whose time is asked for, and not that it is not."""
    times = (cue.answers.search(text) for cue in asked.cues if cue.name == "timing")
    return bool(asked.timed) and any(times) and not NOT_DONE.search(text)


def _says_of(text: str, asked: Wanted) -> bool:
    """Whether it says of something what is said of those that are asked for: “… are high risk”."""
    said = (frozenset(terms(found["what"])) for found in SAYS_OF.finditer(text))
    return len(asked.said_of) > 1 and any(len(words & asked.said_of) > 1 for words in said)


def _is_history(statement: Statement) -> bool:
    """Whether it tells what was changed in a document, and not what holds."""
    return bool(CHANGES.search(statement.text)) or any(HISTORY.match(title) for title in statement.titles)


def _recommends(statement: Statement) -> bool:
    """Whether it tells what to do, or stands under a heading that says so."""
    return bool(
        RECOMMENDS.search(statement.text) or RECOMMENDED_IN.match(statement.titles[-1] if statement.titles else "")
    )


def _explains(statement: Statement) -> bool:
    """Whether it stands in a section that gives reasons or says more of a matter."""
    return any(EXPLAINS.match(title) or ENLARGES.match(title) for title in statement.titles)


def _deliberates(text: str, asked: Wanted) -> bool:
    """Whether it tells how a recommendation came about, or what studies found where advice is asked for."""
    return bool(DELIBERATES.search(text)) or (asked.asks_advice and weighings(text) > 0)


def _defines(statement: Statement, asked: Wanted) -> bool:
    """Whether the statement opens with the thing that is asked for, and says what it is."""
    found = DEFINES.match(statement.lines[0])
    if statement.kind == "row":
        return asked.asks_what and _is_in_column(statement.text, asked)
    if found is None or NOT_DEFINING.match(statement.lines[0]) or (found["lists"] and asked.asks_what):
        return False
    if found["head"] and asked.asks_what and is_dose(statement.text):
        return False  # “Severe dehydration: 100 ml/kg” says what is given for it
    subject = found["subject"] or found["name"] or found["head"]
    others = frozenset(terms(subject)) - frozenset(asked.words)
    most = MAX_OTHER_NAMES if found["name"] else MAX_OTHER_WORDS
    return asked.part(asked.held(subject)) >= 0.5 and len(others) <= most


def _is_in_column(row: str, asked: Wanted) -> bool:
    """Whether the head of a column, or the first cell, is what is asked for: what stands there are its signs."""
    if len(asked.words) < MIN_WORDS_OF_COLUMN:
        return False
    heads = (cell.split(": ")[0] for cell in row.split("; ")[1:])
    return any(asked.part(asked.held(head)) >= MIN_HEADED for head in heads)


def _is_headed(one: Seen, asked: Wanted) -> bool:
    """Whether a statement is the first below a heading that is what is asked for: “Plan B: some dehydration”."""
    if not (one.opens and asked.asks_what) or one.statement.kind == "row" or NOT_DEFINING.match(one.statement.text):
        return False
    said, others, is_held = _head(one, asked)
    return is_held and len(others) <= 1 and (not others or said[0] not in others)


def _is_of_kind(one: Seen, asked: Wanted) -> bool:
    """Whether it stands below a heading that is a kind of what is asked for: “accelerated hypertension”."""
    if not asked.asks_what or one.heading_nearness == 0.0 or not one.statement.titles:
        return False
    said, others, is_held = _head(one, asked)
    return is_held and len(others) == 1 and len(said) == len(asked.words) + 1 and said[0] in others


def _head(one: Seen, asked: Wanted) -> tuple[list[str], frozenset[str], bool]:
    """The words of a heading, those of them that are not asked for, and whether it holds what is."""
    head = HEADING_NUMBER.sub("", one.statement.titles[-1]).split(":")[0]
    said = terms(head)
    others = frozenset(said) - frozenset(asked.words) - frozenset(terms(" ".join(asked.labels)))
    return said, others, asked.part(asked.held(head)) >= MIN_HEADED
