"""Finds what a sentence names: symptoms, conditions, medicines, each with its exact words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from citewell.answer.verify_names import medicines
from citewell.assistants.consult.tables import rows
from citewell.clinical import Concept, Lexicon
from citewell.clinical.context import Context
from citewell.types.consult import Category


@dataclass(frozen=True, slots=True)
class Mention:
    """Words of a sentence that name something."""

    start: int
    end: int
    name: str
    concept: str | None
    category: Category


@cache
def _features() -> tuple[tuple[str, Category, re.Pattern[str]], ...]:
    return tuple(
        (name, Category(category), re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE))
        for name, category, words in rows("features.tsv")
    )


@cache
def _illnesses() -> tuple[dict[str, str], re.Pattern[str]]:
    """Every name of an illness with the one it goes by, and a pattern of all."""
    known = {
        word.casefold(): name for name, others in rows("illnesses.tsv") for word in (name, *others.split("|")) if word
    }
    words = "|".join(re.escape(word) for word in sorted(known, key=len, reverse=True))
    return known, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)


@cache
def _hurting() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Each name of two tables with how people say it: “chest really hurts”, “hurts in my chest”, “burning up”."""
    between = r"(?: (?:really|just|still|also|always|often|is|are|has been|have been|was|does|do|feels|keeps)){0,2}"
    return tuple(
        (
            name,
            re.compile(
                rf"(?<![\w-])(?:(?:{part}){between} (?:hurts?|hurting|aches?|aching|painful|sore)"
                rf"|(?:hurts?|hurting|aches?|sore) in (?:my|his|her|your|the) (?:{part}))(?![\w-])",
                re.IGNORECASE,
            ),
        )
        for name, part in rows("hurting.tsv")
    ) + tuple((name, re.compile(rf"(?<![\w-])(?:{words})(?![\w-])", re.IGNORECASE)) for name, words in rows("said.tsv"))


@cache
def _pattern(table: str) -> re.Pattern[str]:
    return re.compile("|".join(row[0] for row in rows(table)), re.IGNORECASE)


def find_mentions(sentence: str, lexicon: Lexicon) -> list[Mention]:
    """Everything that is named, in order; names do not overlap, the table of the consult comes before the lexicon.

    >>> text = "Stiff neck and a tummy ache, on metformin"
    >>> [(text[one.start : one.end], one.name) for one in find_mentions(text, Lexicon.load())]
    [('Stiff neck', 'neck stiffness'), ('tummy ache', 'Abdominal pain'), ('metformin', 'metformin')]
    """
    found = list(_named(sentence))
    others = sorted((*_concepts(sentence, lexicon), *_aches(sentence, lexicon)), key=lambda one: one.start - one.end)
    for one in (*_medicines(sentence), *others):
        if not any(one.start < other.end and other.start < one.end for other in found):
            found.append(one)
    return sorted(found, key=lambda one: one.start)


CATEGORIES = {
    "symptom": Category.SYMPTOM,
    "condition": Category.MEDICAL_HISTORY,
    "medicine": Category.MEDICATION,
    "allergen": Category.ALLERGY,
    "procedure": Category.MEDICAL_HISTORY,
    "lifestyle": Category.MEDICAL_HISTORY,
}
"""What the reader's kinds are in a consult; the name of a test is no finding."""
SURE = 0.7
"""The share from which the reader's word is taken for a mention that the lexicon does not know."""
ANY = "any"
"""The name of “no allergies” and “no medicines”."""
_LETTERS = re.compile(r"[^\W\d_]{3}|[A-Z]{2}")
"""What a name has at least."""
_ALLERGY = re.compile(r"allerg|\bnkd?a\b", re.IGNORECASE)
_MEDICINES = re.compile(
    r"(?:regular |current |any |other )*(?:medic\w+|meds|drugs?|tablets?|pills?|anything)", re.IGNORECASE
)


def all_mentions(context: Context, start: int, end: int, lexicon: Lexicon) -> list[Mention]:
    """Everything that a sentence of a message names: by the lexicon, and what the reader sees beside it."""
    sentence = context.text[start:end]
    spans = [span for span in context.spans if start <= span.start and span.end <= end and span.share >= SURE]
    kinds = {(span.start - start, span.end - start): span.kind for span in spans}
    found = [_as_read(one, kinds) for one in find_mentions(sentence, lexicon)]
    for (low, high), kind in kinds.items():
        is_free = not any(one.start < high and low < one.end for one in found)
        if is_free and kind in CATEGORIES and _LETTERS.search(sentence, low, high):
            found.append(Mention(low, high, *_unlisted(sentence[low:high], CATEGORIES[kind])))
    return sorted((one for one in found if one.name), key=lambda one: one.start)


def _as_read(one: Mention, kinds: Mapping[tuple[int, int], str]) -> Mention:
    """A mention of the lexicon, an allergen where the reader says that somebody is allergic to it."""
    is_allergen = any(kind == "allergen" and low < one.end and one.start < high for (low, high), kind in kinds.items())
    return replace(one, category=Category.ALLERGY) if is_allergen else one


def _unlisted(words: str, category: Category) -> tuple[str, str | None, Category]:
    """Name, concept and category of words that only the reader takes for a mention."""
    if category is Category.ALLERGY and _ALLERGY.search(words):
        return ANY, None, category
    if category is Category.MEDICATION and _MEDICINES.fullmatch(words):
        return ANY, None, category
    return " ".join(words.split()).lower(), None, category


def _named(sentence: str) -> Iterator[Mention]:
    """What the consult's own table names, the longer of two that overlap."""
    flat = sentence.replace("’", "'")
    every = [
        Mention(*match.span(), name, _concept(name), category)
        for name, category, pattern in _features()
        for match in pattern.finditer(flat)
    ]
    known, illnesses = _illnesses()
    for match in illnesses.finditer(flat):
        name = known[match.group().casefold()]
        every.append(Mention(*match.span(), name, _concept(name), Category.MEDICAL_HISTORY))
    every.sort(key=lambda one: (one.start - one.end, one.start))
    taken: list[Mention] = []
    for one in every:
        if not any(one.start < other.end and other.start < one.end for other in taken):
            taken.append(one)
            yield one


def _concept(name: str) -> str:
    return "CW:" + name.replace(" ", "-")


def _medicines(sentence: str) -> Iterator[Mention]:
    for one in medicines(sentence):
        yield Mention(one.start, one.end, one.name, None, Category.MEDICATION)


def _concepts(sentence: str, lexicon: Lexicon) -> Iterator[Mention]:
    taken: set[tuple[int, int]] = set()
    for one in lexicon.find(sentence):
        written, span = sentence[one.start : one.end], (one.start, one.end)
        if span in taken or _pattern("stop.tsv").search(written):
            continue
        concept = canonical(one.concept, lexicon)
        if _pattern("stop.tsv").search(concept.name):
            continue
        taken.add(span)
        is_condition = _pattern("conditions.tsv").search(concept.name) is not None
        category = Category.MEDICAL_HISTORY if is_condition else Category.SYMPTOM
        yield Mention(one.start, one.end, concept.name, concept.id, category)


def _aches(sentence: str, lexicon: Lexicon) -> Iterator[Mention]:
    flat = sentence.replace("’", "'")
    for name, pattern in _hurting():
        for match in pattern.finditer(flat):
            yield Mention(match.start(), match.end(), *_known_as(name, lexicon))


@lru_cache(maxsize=1_000)
def _known_as(name: str, lexicon: Lexicon) -> tuple[str, str | None, Category]:
    """What a name of the tables is called elsewhere; itself where it is not."""
    for one in (*_named(name), *_concepts(name, lexicon)):
        if one.end - one.start == len(name):
            return one.name, one.concept, one.category
    return name, None, Category.SYMPTOM


@lru_cache(maxsize=10_000)
def canonical(concept: Concept, lexicon: Lexicon) -> Concept:
    """One concept for two tables: the ontology's, where it has what Citewell's own table names."""
    if not concept.curated:
        return concept
    for one in lexicon.find(concept.name):
        if (one.start, one.end) == (0, len(concept.name)) and not one.concept.curated:
            return one.concept
    return concept


@lru_cache(maxsize=10_000)
def concept_of(name: str, lexicon: Lexicon) -> tuple[str, str | None, Category]:
    """Name, concept and category of something that was typed as a name of its own.

    >>> concept_of("high temperature", Lexicon.load())[:2]
    ('Fever', 'HP:0001945')
    """
    for one in find_mentions(name, lexicon):
        if one.end - one.start >= len(name.strip()) - 1:
            return one.name, one.concept, one.category
    return " ".join(name.split()), None, Category.SYMPTOM
