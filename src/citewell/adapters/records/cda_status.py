"""Whether what a C-CDA entry tells still holds: what it says itself, what its line says, and where the two differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from citewell.adapters.parsers.markup_flow import child_named, children_named
from citewell.adapters.records.cda_values import (
    Element,
    attribute,
    ending_of,
    is_later_release,
    outer_of,
    referred_within,
    section_code,
    status_of,
    template,
)

STATUS = "33999-4"
"""LOINC: status; the code of every status observation, whatever its template."""
STATUS_TEMPLATES = frozenset({"6", "28"})
PAST_ILLNESS = "11348-0"
GIVEN_HERE = frozenset({"29549-3", "18610-6"})
"""LOINC: medicines that were given during the visit."""


class State(Enum):
    """Whether something holds now."""

    ACTIVE = auto()
    PAUSED = auto()
    CALMED = auto()
    OVER = auto()


CODES = {
    "55561003": State.ACTIVE,
    "90734009": State.ACTIVE,
    "255227004": State.ACTIVE,
    "246455001": State.ACTIVE,
    "263855007": State.ACTIVE,
    "7087005": State.ACTIVE,
    "277022003": State.CALMED,
    "421139008": State.PAUSED,
    "73425007": State.OVER,
    "413322009": State.OVER,
    "392521001": State.OVER,
    "410516002": State.OVER,
    "active": State.ACTIVE,
    "inactive": State.OVER,
    "resolved": State.OVER,
    "suspended": State.PAUSED,
    "completed": State.OVER,
    "aborted": State.OVER,
}
"""SNOMED CT: active, chronic, recurrent, recurrence, relapse, intermittent; remission; on hold; inactive, resolved,
history of, ruled out. HL7: the states of acts, which some systems write there."""
ACTS = {
    "active": State.ACTIVE,
    "ordered": State.ACTIVE,
    "new": State.ACTIVE,
    "suspended": State.PAUSED,
    "held": State.PAUSED,
    "aborted": State.OVER,
    "cancelled": State.OVER,
    "obsolete": State.OVER,
}
"""The state of the act of a medicine, but for “completed”."""
_WORDS = (
    (
        State.OVER,
        r"inactive|not[- ]active|no longer|not[- ]taking|resolved|discontinued?|stop(?:ped)?|ended|expired|completed|"
        r"finished|historical|history|prior|past|cancell?ed|deleted|ruled out|removed|no",
    ),
    (State.PAUSED, r"on hold|held|suspended|paused"),
    (State.CALMED, r"(?:in )?remission"),
    (
        State.ACTIVE,
        r"active|current|currently|ongoing|chronic|taking|ordered|prescribed|continued?|continues|start(?:ed)?|new|"
        r"refill(?:ed)?|acute|recurrent|yes",
    ),
)
_SAID = tuple((state, re.compile(rf"(?<!\W)\W*(?:{words})\b", re.IGNORECASE)) for state, words in _WORDS)
_OF_SOMETHING_ELSE = "fill|refill|order|reaction|severity|delivery|verification|dispense|supply|payment|result|smoking"
_COLUMN = re.compile(
    rf"(?<!\w)(?:(?:{_OF_SOMETHING_ELSE}) status\b[^;]*|status(?: ?/ ?\w+)?\s*[:–=-]\s*([^;:]{{2,60}}))", re.IGNORECASE
)
_ASKED = re.compile(r"\b(in)?active\?\s*:\s*(yes|no|y|n|true|false)\b", re.IGNORECASE)
_ALONE = re.compile(
    r"(?:^|[:;])\s*(active|inactive|resolved|discontinued|no longer active|on hold)\W*(?=;|$)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What came of it, and whether a person should look."""

    state: State
    is_sure: bool = True


def words_state(words: str) -> State | None:
    """What a status says in words.

    >>> [words_state(words) for words in ("No Longer Active", "ACTIVE", "On Hold", "moderate")]
    [<State.OVER: 4>, <State.ACTIVE: 1>, <State.PAUSED: 2>, None]
    """
    return next((state for state, pattern in _SAID if pattern.match(words)), None)


def line_state(line: str) -> State | None:
    """What the line of an entry says under “Status”, if all that stands there says the same.

    >>> line_state("Problem: Asthma; Status: Active"), line_state("Asthma : Status - Resolved")
    (<State.ACTIVE: 1>, <State.OVER: 4>)
    >>> line_state("Medication: Zocor; Start: 2012; Active?: No"), line_state("Fill Status: Completed")
    (<State.OVER: 4>, None)
    """
    said = {words_state(words) for words in _COLUMN.findall(line) if words}
    for is_denied, reply in _ASKED.findall(line):
        said.add(State.ACTIVE if (reply[0].casefold() in "yt") != bool(is_denied) else State.OVER)
    said = (said - {None}) or {words_state(words) for words in _ALONE.findall(line)}
    return said.pop() if len(said) == 1 else None


def concern_standing(element: Element, line: str, now: datetime) -> Standing:
    """Of an allergy or a problem: its status observation, else its line, else its end and its concern."""
    outer = outer_of(element)
    told = _told(element)
    said, own = line_state(line), _concern(element, outer, now)
    if told is not None:
        has_ended = ending_of(element).is_before(now)
        return Standing(told, (said is None or _holds(said) == _holds(told)) and not (has_ended and _holds(told)))
    if said is not None:
        return Standing(said, _holds(said) == _holds(own.state))
    return own


def _concern(element: Element, outer: Element, now: datetime) -> Standing:
    """What an end and a concern say.

    A concern that is completed says when it ended; one that does not is only a document that is completed. An end on an
    unknown day, in a concern that is active, may be either.
    """
    ending, around = ending_of(element), ending_of(outer)
    status = status_of(outer) if outer is not element else None
    if ending.is_before(now):
        return Standing(State.OVER)
    if ending.at is not None:
        return Standing(State.ACTIVE)
    if status in ("completed", "aborted"):
        return Standing(State.OVER) if ending.is_told or around.is_told else Standing(State.ACTIVE, is_sure=False)
    if ending.is_told:
        return Standing(State.ACTIVE if status == "active" else State.OVER, is_sure=False)
    if section_code(element) == PAST_ILLNESS:
        return Standing(State.OVER, is_sure=False)
    return Standing(State.ACTIVE, is_sure=status != "suspended")


def medicine_standing(element: Element, line: str, now: datetime) -> Standing:
    """Of a medicine: its status observation, else the state of its act, else its line, else its end."""
    told, said, has_ended = _told(element), line_state(line), ending_of(element).is_before(now)
    status = status_of(element) or next(
        (state for supply in _supplies(element) if (state := status_of(supply)) is not None), None
    )
    act = told or ACTS.get(status or "")
    if act is not None:
        return Standing(act, said in (None, act) and not (has_ended and act is State.ACTIVE))
    if section_code(element) in GIVEN_HERE:
        return Standing(State.OVER)
    own = Standing(State.OVER) if has_ended else Standing(State.ACTIVE)
    if not has_ended and status == "completed" and ending_of(element).at is None:
        # Since release 2 of the guide “completed” is a medicine that is over; before, it was an entry that is written.
        own = Standing(State.OVER if is_later_release(element) else State.ACTIVE, is_sure=False)
    if said is not None:
        return Standing(said, _holds(said) == _holds(own.state))
    return own


def _holds(state: State) -> bool:
    return state is not State.OVER


def _told(element: Element) -> State | None:
    """What the status observation of an entry says: its name, which people have seen, else its code."""
    for relation in children_named(element, "entryRelationship"):
        for inner in children_named(relation, "observation"):
            if attribute(child_named(inner, "code"), "code") != STATUS and not template(inner) & STATUS_TEMPLATES:
                continue
            value, text = child_named(inner, "value"), child_named(inner, "text")
            original = child_named(value, "originalText")
            code = CODES.get((attribute(value, "code") or "").casefold())
            words = [attribute(value, "displayName"), *_said(original)]
            named = next((state for held in words if held and (state := words_state(held)) is not None), None)
            if named is None and code is None:
                named = next((state for held in _said(text) if held and (state := words_state(held))), None)
            if (state := named or code) is not None:
                return state
    return None


def _said(text: Element | None) -> tuple[str | None, ...]:
    return () if text is None else (" ".join("".join(map(str, text.itertext())).split()), referred_within(text))


def _supplies(element: Element) -> list[Element]:
    relations = children_named(element, "entryRelationship")
    return [supply for relation in relations for supply in children_named(relation, "supply")]
