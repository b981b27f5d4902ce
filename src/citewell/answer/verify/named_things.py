"""Whether a claim speaks of the same medicines and conditions as a source sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell.answer.illnesses import illnesses, other_names
from citewell.answer.verify.claim_words import ReadSentence, form, forms
from citewell.answer.verify.mismatches import Mismatch, MismatchGrade
from citewell.clinical import Concept, Lexicon, NameHit
from citewell.clinical.medicines import Medicine, medicines
from citewell.clinical.severity_grades import graded, says_grade

# -------------------------------------------------------------------------------------------------------- medicines

_GIVEN = re.compile(
    r"\b(?:recommended|indicated|advised|offer|give|use|prescribe|given|used|offered|taken)\b", re.IGNORECASE
)
"""In a claim: a medicine is to be given."""


def medicines_differ(claim: ReadSentence, source: ReadSentence) -> list[Mismatch]:
    """Each medicine of the claim that the source sentence does not name."""
    held = {drug.name for drug in source.medicines}
    named = {drug.name for drug in claim.medicines}
    words = forms(source.text)
    mismatches = []
    for drug in claim.medicines:
        if drug.name in held or forms(claim.text[drug.start : drug.end]) <= words:
            mismatches += _refused(drug, claim, source)
            continue
        mismatches.append(
            _medicine_finding(drug, claim, [other for other in source.medicines if other.name not in named])
        )
    return mismatches


def is_of_other_medicine(claim: ReadSentence, text: str) -> bool:
    """Whether a text speaks of medicines, and of none of the claim's, nor of their kin: its numbers are not theirs.

    >>> from citewell.answer.verify.claim_words import read
    >>> claim = read("Amoxicillin is given for 7 days")
    >>> [is_of_other_medicine(claim, text) for text in ("Apixaban for 7 days.", "For 7 days.", "A penicillin: 7 days.")]
    [True, False, False]
    """
    there = medicines(text) if claim.medicines else ()
    kin = {name for drug in claim.medicines for name in (drug.name, drug.family)}
    return bool(there) and not any({drug.name, drug.family} & kin for drug in there)


def _refused(drug: Medicine, claim: ReadSentence, source: ReadSentence) -> list[Mismatch]:
    """A medicine that is to be given as the claim has it, of which the source only says when it is not to be."""
    there = [other for other in source.medicines if other.name == drug.name]
    is_given = _GIVEN.search(claim.text) is not None and not claim.denials
    if not there or not is_given or not all(source.is_clause_denied(other.start) for other in there):
        return []
    reason = f"the source only says when {claim.text[drug.start : drug.end]} is not given"
    return [Mismatch(MismatchGrade.WEAKER, "medicine", reason, drug.start, drug.end)]


def _medicine_finding(drug: Medicine, claim: ReadSentence, others: list[Medicine]) -> Mismatch:
    written = claim.text[drug.start : drug.end]
    kin = [other for other in others if other.family == drug.family and other.is_class != drug.is_class]
    if kin:
        reason = f"the source mentions {kin[0].name}, not {written}"
        return Mismatch(MismatchGrade.WEAKER, "medicine", reason, drug.start, drug.end)
    rivals = [other for other in others if other.is_class == drug.is_class]
    if rivals:
        reason = f"{written} is not in the source, which mentions {rivals[0].name}"
        return Mismatch(MismatchGrade.AGAINST, "medicine", reason, drug.start, drug.end)
    return Mismatch(MismatchGrade.MISSING, "medicine", f"{written} is not in the source", drug.start, drug.end)


# ------------------------------------------------------------------------------------------------------- conditions


def grades_differ(claim: ReadSentence, source: ReadSentence) -> Iterator[Mismatch]:
    """Each grade of an illness of the claim where the source has another grade of the same alone."""
    theirs = graded(source.text)
    for ours in graded(claim.text):
        rival = next(
            (
                graded_illness
                for graded_illness in theirs
                if (graded_illness.scale, graded_illness.noun) == (ours.scale, ours.noun)
            ),
            None,
        )
        if rival is not None and not says_grade(source.text, ours):
            start = claim.text.find(ours.text)
            yield Mismatch(
                MismatchGrade.AGAINST, "condition", f"the source says “{rival.text}”", start, start + len(ours.text)
            )


@dataclass(frozen=True, slots=True)
class Topic:
    """A condition that a sentence names, and the word forms of each of its names."""

    start: int
    end: int
    concept_ids: frozenset[str]
    names: tuple[frozenset[str], ...]

    def is_in(self, words: frozenset[str]) -> bool:
        return any(map(words.issuperset, self.names))


@lru_cache(maxsize=20_000)
def _names(concept: Concept) -> tuple[frozenset[str], ...]:
    small = frozenset(form(word) for word in "of in the my to and on".split())
    return tuple(frozenset(forms(name.text) - small) for name in concept.names)


_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(("of", "the", "in", "s"))
_PLURAL = re.compile(r"(?<=\b[A-Z]{2})s\b|(?<=\b[A-Z]{3})s\b|(?<=\b[A-Z]{4})s\b")
"""The plural of an abbreviation, which the lexicon knows in the singular."""


@lru_cache(maxsize=4096)
def topics(text: str, lexicon: Lexicon) -> tuple[Topic, ...]:
    """The conditions of a sentence; a name of two concepts is one topic."""
    places: dict[tuple[int, int], list[NameHit]] = {}
    for mention in lexicon.find(_PLURAL.sub(" ", text)):
        places.setdefault((mention.start, mention.end), []).append(mention)
    return tuple(
        Topic(start, end, frozenset(mention.concept.id for mention in mentions), _all_names(mentions))
        for (start, end), mentions in places.items()
    )


def _all_names(mentions: Iterable[NameHit]) -> tuple[frozenset[str], ...]:
    return tuple(name for mention in mentions for name in _names(mention.concept) if name)


@cache
def _forms_of(name: str) -> tuple[frozenset[str], ...]:
    """The word forms of each of the names of an illness."""
    written = (name, *other_names(name))
    return tuple(frozenset(form(word) for word in _WORD.findall(one) if word not in _SMALL) for one in written)


@lru_cache(maxsize=4096)
def illness_topics(text: str) -> tuple[Topic, ...]:
    """The illnesses of a text as topics, so that “flu” is said by a source that has “influenza”."""
    return tuple(Topic(illness.start, illness.end, frozenset(), _forms_of(illness.name)) for illness in illnesses(text))


def known_of(text: str, lexicon: Lexicon) -> tuple[Topic, ...]:
    """What a claim names, by each of whose names a source may say it."""
    return (*topics(text, lexicon), *illness_topics(text))
