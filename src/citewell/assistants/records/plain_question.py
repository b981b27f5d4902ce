"""A question as it is meant: short forms in full, misspelt words as the right ones, “she” as who is asked about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

from citewell.assistants.records.tables import rows
from citewell.clinical.languages import language_of, spelled
from citewell.clinical.spelling_correction import LONG, SHORTEST, corrected, is_clinical, is_word

_WORD = re.compile(r"[^\W\d_]+")
SHORTEST_GIVEN = 2
"""Letters above which a given name is told apart from initials and titles."""
_IM = re.compile(r"\bim\b")
_SHORT = (
    (re.compile(r"\b(what|who|where|when|how|that|there)s\b", re.IGNORECASE), r"\1 is"),
    (re.compile(r"\b(?:wat|wot)\b", re.IGNORECASE), "what"),
    (re.compile(r"\bdoc\b", re.IGNORECASE), "doctor"),
    (re.compile(r"\bdocs\b", re.IGNORECASE), "doctors"),
    (re.compile(r"\bbp\b", re.IGNORECASE), "blood pressure"),
    (re.compile(r"\bmeds\b", re.IGNORECASE), "medicines"),
)
_TYPED = tuple(
    (re.compile(rf"(?<![\w'’])(?:{short})(?![\w'’])", re.IGNORECASE), full)
    for short, full in (
        ("wht|whta", "what"),
        ("w", "with"),
        ("wen|whn", "when"),
        ("u|ya", "you"),
        ("ur", "your"),
        ("r", "are"),
        ("n|&", "and"),
        ("b4", "before"),
        ("abt", "about"),
        ("pls|plz", "please"),
        ("hosp", "hospital"),
        ("appts?", "appointment"),
        ("dx", "diagnosis"),
        ("rx", "prescription"),
        ("hx", "history"),
        ("tabs?", "tablets"),
        ("vaxx?", "vaccination"),
        ("yrs?", "years"),
        ("mths?", "months"),
        ("wks?", "weeks"),
        ("drs", "doctors"),
    )
)
"""Short forms that people type in English."""
_SAID_BY = re.compile(
    r"\b(?:she|he) (?:\w+ )?(?:say|said|tell|told|prescribe|give|gave|write|wrote|find|found|think|decide|suggest"
    r"|advise)\b",
    re.IGNORECASE,
)
"""What somebody who treats the person said: nobody that the record is about."""
_PERSON = tuple(
    (re.compile(rf"\b{words}\b", re.IGNORECASE), ours)
    for words, ours in (
        (r"is (?:she|he)", "am i"),
        (r"does (?:she|he)", "do i"),
        (r"has (?:she|he)", "have i"),
        (r"(was|did|can|could|should|may|might|must|will|would|had) (?:she|he)", r"\1 i"),
        (r"(?:she|he) is", "i am"),
        (r"(?:she|he) has", "i have"),
        (r"(?:she|he) takes", "i take"),
        (r"(?:she|he)", "i"),
        (r"(?:herself|himself)", "myself"),
        (r"(?:her|his)(?= \w)", "my"),
    )
)


@dataclass(frozen=True, slots=True)
class PlainQuestion:
    """A question as it is meant, and which of its words were read as others."""

    text: str
    corrected: Mapping[str, str]


@lru_cache(maxsize=1_000)
def plain_question(question: str) -> PlainQuestion:
    """A question as it is meant.

    >>> plain_question("whats she alergic to?").text, plain_question("my tetnus jab").corrected
    ('what am i allergic to?', {'tetnus': 'tetanus'})
    """
    text = spelled(question)
    if language_of(_IM.sub(" ", text)) == "en":  # “im” is a small word of German too
        text = _IM.sub("i am", text)
    for short, full in _SHORT:
        text = short.sub(full, text)
    is_english = language_of(text) == "en"
    for short, full in _TYPED if is_english else ():
        text = short.sub(full, text)
    if is_english and not _SAID_BY.search(text):
        for theirs, ours in _PERSON:
            text = theirs.sub(ours, text)
    read = _right if is_english else corrected
    found = {word: right for word in _WORD.findall(text) if (right := read(word)) is not None}
    return PlainQuestion(_WORD.sub(lambda match: found.get(match.group(), match.group()), text), found)


def as_own(question: str, names: Iterable[str]) -> str:
    """A question about the person of the record by name, as the person would ask it.

    >>> as_own("why was isabella in hospital, and isabella's allergies?", ["Isabella Jones"])
    'why was I in hospital, and my allergies?'
    """
    for name in names:
        for given in name.split()[:-1]:
            if len(given) > SHORTEST_GIVEN and given.isalpha() and not _is_plain(given.casefold()):
                question = re.sub(rf"\b{given}['’]?s\b", "my", question, flags=re.IGNORECASE)
                question = re.sub(rf"\b{given}\b", "I", question, flags=re.IGNORECASE)
    return question


def _is_plain(word: str) -> bool:
    """Whether a name is a word that questions have anyway: May, Will, Rose."""
    small = {plain for _, line in rows("plain_words.tsv") for plain in line.split()}
    return word in small or _is_asked(word) or is_clinical(word)


def _right(word: str) -> str | None:
    """The word that a misspelt one is read as: a clinical one, or one by which patients ask.

    >>> _right("inject"), _right("alergic")
    (None, 'allergic')
    """
    return None if _is_asked(word.casefold()) else corrected(word) or _asked_word(word)


@cache
def _plain_stems() -> re.Pattern[str]:
    stems = [word[:-1] for _, line in rows("plain_words.tsv") for word in line.split() if word.endswith("*")]
    return re.compile("|".join(map(re.escape, stems)))


@lru_cache(maxsize=20_000)
def _is_asked(word: str) -> bool:
    """Whether a word is one by which patients ask, as it is."""
    return word in _asked_words() or (len(word) > SHORTEST and _plain_stems().fullmatch(word) is not None)


@lru_cache(maxsize=20_000)
def _asked_word(word: str) -> str | None:
    """The word of the tables that a misspelt one is but for a letter; None where it could be several."""
    low = word.casefold()
    if len(low) <= SHORTEST or not low.isascii() or low in _asked_words() or is_word(word):
        return None
    most = 2 if len(low) >= LONG else 1
    near = process.extract(low, _asked_words(), scorer=OSA.distance, score_cutoff=most, limit=2)
    if not near or (len(near) > 1 and near[0][1] == near[1][1]) or near[0][0][0] != low[0]:
        return None
    return str(near[0][0])


@cache
def _asked_words() -> tuple[str, ...]:
    """The words by which patients ask, whole."""
    return tuple(dict.fromkeys(word for (words,) in rows("asked_words.tsv") for word in words.split()))
