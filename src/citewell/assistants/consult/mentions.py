"""Finds what a sentence names: symptoms, conditions, habits and medicines, each with its exact words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from citewell import clinical
from citewell.clinical.assertion import AssertionContext, MentionSpan
from citewell.clinical.implied_findings import is_misread, is_normal, meant
from citewell.clinical.quantities import person_words, results
from citewell.types.consult import Category, Polarity


@dataclass(frozen=True, slots=True)
class SentenceMention:
    """Words of a sentence that name something."""

    start: int
    end: int
    name: str
    concept: str | None
    category: Category
    corrected: str | None = None
    """The word that a misspelt one is read as."""
    ids: frozenset[str] = frozenset()
    """All ids of the concept."""


FINDINGS = frozenset({"symptom", "condition", "lifestyle", "medicine"})
"""Kinds of names that are findings in a consult; the name of a test or a procedure is none."""
CATEGORIES = {
    "symptom": Category.SYMPTOM,
    "condition": Category.MEDICAL_HISTORY,
    "medicine": Category.MEDICATION,
    "allergen": Category.ALLERGY,
    "procedure": Category.MEDICAL_HISTORY,
    "lifestyle": Category.MEDICAL_HISTORY,
}
"""What the reader's kinds are in a consult; the name of a test is no finding."""
SURE, SURE_OF_ALLERGEN, SURE_OF_UNKNOWN = 0.8, 0.5, 0.9
"""The share from which the reader's word is taken for a mention that the lexicon does not know: less for an allergy,
since one that is missed is worse than one too many, and more for a symptom that means nothing known."""
SURE_OF_REACTION = 0.95
"""The share from which a medicine that the lexicon knows is what somebody reacts to, and not what they take."""
ANY = "any"
"""The name of “no allergies” and “no medicines”."""
_LETTERS = re.compile(r"[^\W\d_]{3}|[A-Z]{2}")
"""What a name has at least."""
_LEAD = re.compile(
    r"^(?:(?:he|she|i|we|they|patient|pt)(?:['’](?:s|ve|m|re)| is| has| have| had| was)?\s+)"
    r"(?:(?:come (?:in )?about|here (?:about|for|with)|got|having|been having|been|complain\w+ of|noticed)\s+)?",
    re.IGNORECASE,
)
_TAIL = re.compile(r"(?<!\s)(?:\s+(?:at|in|on|with|of|and|or|to|for|the|an?|my|his|her)){1,8}$", re.IGNORECASE)
"""What stands before and behind a complaint: “He's come about funny turns at”."""
PENICILLIN = "penicillin"
"""What “pen” is where somebody is allergic to it."""
_OF_ECG = re.compile(r"\bST[- ](?:segment )?$")
"""Before it: “ST depression” is of an ECG, not of a mood."""
_ALLERGY = re.compile(r"allerg|\bnkd?a\b", re.IGNORECASE)
_MEDICINES = re.compile(
    r"(?:regular |current |any |other ){0,4}(?:medic\w+|meds|drugs?|tablets?|pills?|anything)", re.IGNORECASE
)

_BESIDES = re.compile(r"\bother\b", re.IGNORECASE)
"""Who takes no other medicines takes some."""


def find_mentions(sentence: str) -> list[SentenceMention]:
    """Everything that is named, in order.

    >>> text = "Stiff neck and a tummy ache, on metformin"
    >>> [(text[one.start : one.end], one.name) for one in find_mentions(text)]
    [('Stiff neck', 'neck stiffness'), ('tummy ache', 'Abdominal pain'), ('metformin', 'metformin')]
    """
    return [
        SentenceMention(
            mention.start,
            mention.end,
            clinical.kept_name(mention),
            mention.id or None,
            CATEGORIES[mention.kind],
            mention.corrected,
            mention.ids,
        )
        for mention in clinical.mentions(sentence)
        if mention.kind in FINDINGS and not _OF_ECG.search(sentence, 0, mention.start)
    ]


def all_mentions(context: AssertionContext, start: int, end: int) -> list[SentenceMention]:
    """Everything that a sentence of a message names: by the lexicon, and what the reader sees beside it."""
    sentence = context.text[start:end]
    spans = [span for span in context.spans if start <= span.start and span.end <= end and _is_sure(span)]
    kinds = {(span.start - start, span.end - start): span for span in spans}
    sure = [
        (span.start - start, span.end - start)
        for span in spans
        if span.kind == "allergen" and span.share >= SURE_OF_REACTION
    ]
    sentence_mentions = [
        _as_read(mention, sure)
        for mention in find_mentions(sentence)
        if not is_misread(context, [(start + mention.start, start + mention.end)], mention.ids)
    ]
    learned = {
        (mention.start - start, mention.end - start): mention
        for mention in meant(context)
        if not is_normal(context, mention.start, mention.end)
    }
    measured = results(sentence)
    for (low, high), span in kinds.items():
        is_free = not any(
            sentence_mention.start < high and low < sentence_mention.end for sentence_mention in sentence_mentions
        )
        is_free = is_free and not any(reading.start < high and low < reading.end for reading in measured)
        is_free = is_free and not _OF_ECG.search(sentence, 0, low)
        if is_free and (one := learned.get((low, high))) is not None:
            sentence_mentions.append(
                SentenceMention(low, high, clinical.kept_name(one), one.id or None, CATEGORIES[span.kind], ids=one.ids)
            )
        elif is_free and span.kind in CATEGORIES and _is_name(span, sentence[low:high]):
            sentence_mentions.append(SentenceMention(low, high, *_unlisted(sentence[low:high], CATEGORIES[span.kind])))
    for match in _MEDICINES.finditer(sentence):
        is_free = not any(mention.start < match.end() and match.start() < mention.end for mention in sentence_mentions)
        is_free = is_free and _BESIDES.search(match.group()) is None
        if is_free and context.assertion(start + match.start(), start + match.end()).status is Polarity.ABSENT:
            sentence_mentions.append(SentenceMention(*match.span(), ANY, None, Category.MEDICATION))
    return sorted((mention for mention in sentence_mentions if mention.name), key=lambda mention: mention.start)


def _is_sure(span: MentionSpan) -> bool:
    return span.share >= (SURE_OF_ALLERGEN if span.kind == "allergen" else SURE)


def _is_name(span: MentionSpan, words: str) -> bool:
    """Whether words that nobody knows may name a finding; a person alone is none, nor is the result of a test."""
    if span.kind == "symptom" and span.share < SURE_OF_UNKNOWN:
        return False
    is_person = any(re.fullmatch(pattern, words, re.IGNORECASE) for pattern in person_words().values())
    return _LETTERS.search(words) is not None and not is_person and not results(words)


def _as_read(mention: SentenceMention, allergens: Sequence[tuple[int, int]]) -> SentenceMention:
    """A mention of the lexicon, an allergen where the reader says that somebody is allergic to it."""
    is_allergen = any(low < mention.end and mention.start < high for low, high in allergens)
    return replace(mention, category=Category.ALLERGY) if is_allergen else mention


def _unlisted(words: str, category: Category) -> tuple[str, str | None, Category]:
    """Name, concept and category of words that only the reader takes for a mention."""
    if category is Category.ALLERGY and _ALLERGY.search(words):
        return ANY, None, category
    if category is Category.MEDICATION and _MEDICINES.fullmatch(words):
        return "" if _BESIDES.search(words) else ANY, None, category
    name = _TAIL.sub("", _LEAD.sub("", " ".join(words.split()))).lower()
    return (PENICILLIN if category is Category.ALLERGY and name == "pen" else name), None, category


@lru_cache(maxsize=10_000)
def concept_of(name: str) -> tuple[str, str | None, Category]:
    """Name, concept and category of something that was typed as a name of its own.

    >>> concept_of("high temperature")[:2]
    ('Fever', 'HP:0001945')
    """
    for mention in find_mentions(name):
        if mention.end - mention.start >= len(name.strip()) - 1:
            return mention.name, mention.concept, mention.category
    return " ".join(name.split()), None, Category.SYMPTOM
