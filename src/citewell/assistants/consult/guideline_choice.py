"""Chooses the guidelines on a diagnosis: by the illness that a title names, else by the sections that are on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell.answer.illnesses import (
    are_related,
    illnesses,
    named_illnesses,
    other_names,
    parted_illnesses,
    speaks_of,
    wider,
)
from citewell.assistants.consult.advice_sections import NUMBER, may_advise
from citewell.assistants.consult.tables import rows
from citewell.clinical import mentions
from citewell.clinical.assertion import read_context
from citewell.clinical.medicines import medicines
from citewell.sentences import terms
from citewell.types import Document, LibraryEntry

_QUALIFYING = (
    "suspected possible probable likely confirmed acute chronic severe mild moderate simple uncomplicated "
    "complicated recurrent persistent known new primary secondary essential early late lower upper first "
    "episode exacerbation attack flare crisis relapse disease disorder syndrome infection infections "
    "illness condition left right both bilateral adult adults child children young people patient "
    "patients woman women man men infant infants baby babies"
)
"""Words that say which form of an illness it is, or whom it befalls: without them it is the same illness."""
_LITTLE = "high low raised elevated increased in of the with and for from"
"""Words of a name without which it is still the name: blood pressure is what is raised in hypertension."""
_AROUND = (
    "treatment treating management managing diagnosis diagnosing assessment assessing investigation investigations "
    "clinical features referral recognition care therapy guideline guidelines recommendation recommendations "
    "pathway initial drug medical standard"
)
"""Words that a heading puts round the name of an illness."""
_EPISODE = "attack episode exacerbation flare patients"
MAX_PART_WORDS = 9
MAX_FORMS = 5
"""Illnesses that the headings of a guideline on one illness and its forms may name."""
CHAPTER_DEPTH = 2
"""Where the title names another illness, only a chapter is on this one: further down it is named beside the other."""
SURE_MEANING = 0.6
"""Share from which the reader's meaning of a diagnosis is tried."""
_WITHOUT = re.compile(
    r"[,;(/]|\s[-–]\s|\b(?:with(?:out)?|no|not|in|on|for|after|post|since|x(?= ?\d))\b", re.IGNORECASE
)
"""Where a diagnosis goes on to say something beside its name."""
OPENING = 600
"""Characters in which a guideline says what it is on."""
_SEVERE = re.compile(
    r"\b(?:life[- ]threatening|fulminant)\b|\bwith (?:\w+ )?(?:shock|encephalopathy|coma|organ dysfunction"
    r"|(?:liver|hepatic|renal|kidney|respiratory|(?:multi-?)?organ) failure)\b",
    re.IGNORECASE,
)
"""What makes an infection or an attack severe, where a diagnosis does not say so."""
_BESIDE = re.compile(
    r"\b(?:after|following|post|due to|secondary to|because of|caused by|with|in|on|history of)\b", re.IGNORECASE
)
"""Behind these words a diagnosis names an illness beside the one that is treated: raised cholesterol after a stroke."""
_USES = re.compile(r"^(?!contra)(?:therapeutic )?indications\b", re.IGNORECASE)
_DOSING = re.compile(r"^(?:dosage and administration|posology)\b", re.IGNORECASE)
"""The sections of what is printed with a medicine that say what it is for, and how it is given."""


@dataclass(frozen=True, slots=True)
class ChosenGuideline:
    """A guideline on a diagnosis: all of it, or the sections that are on the illness."""

    entry: LibraryEntry
    document: Document
    headings: frozenset[str] | None
    """The headings of the sections on the illness; None where the whole document is on it."""
    closeness: float
    """Which part of a name of the illness its title has."""
    medicine: str | None = None
    """The medicine that it is printed with, which is for the illness."""

    def covers(self, section: Sequence[str]) -> bool:
        """Whether words under these headings are on the illness."""
        return self.headings is None or any(title in self.headings for title in section)


def guidelines_on(
    condition: str, shelf: Iterable[tuple[LibraryEntry, Document]]
) -> tuple[tuple[ChosenGuideline, ...], tuple[LibraryEntry, ...]]:
    """The guidelines on a diagnosis, and the others that were looked at; of several, those that name most of it.

    Where there is none, what is printed with a medicine for the illness tells how that one is given.
    """
    chosen, others = [], []
    for entry, document in shelf:
        guideline = _chosen(condition, entry, document)
        if guideline is None:
            others.append(entry)
        else:
            chosen.append(guideline)
    best = max((guideline.closeness for guideline in chosen), default=0)
    others += [guideline.entry for guideline in chosen if guideline.closeness < best]
    return tuple(guideline for guideline in chosen if guideline.closeness == best), tuple(others)


@lru_cache(maxsize=1_000)
def written_out(diagnosis: str) -> str:
    """A diagnosis with the abbreviations and everyday names in it as guidelines write them.

    >>> written_out("D&V"), written_out("Primary prevention of cardiovascular disease")
    ('diarrhoea and vomiting', 'Primary prevention of cardiovascular disease')
    >>> written_out("Yellow fever with liver failure")
    'Severe Yellow fever with liver failure'
    """
    whole = [(illness.start, illness.end) for illness in illnesses(diagnosis)]
    for mention in reversed(mentions(diagnosis)):
        if any(low <= mention.start and mention.end <= high for low, high in whole):
            continue  # break-bone fever is no broken bone, and cardiovascular disease not only of the heart
        own = named_illnesses(diagnosis[mention.start : mention.end])
        if mention.kind in ("condition", "symptom") and (not own or named_illnesses(mention.name) - own):
            diagnosis = f"{diagnosis[: mention.start]}{mention.name}{diagnosis[mention.end :]}"
    return diagnosis if "severe" in diagnosis.casefold() or not _SEVERE.search(diagnosis) else f"Severe {diagnosis}"


@lru_cache(maxsize=1_000)
def other_readings(diagnosis: str) -> tuple[str, ...]:
    """What else a diagnosis may be called, to be tried where nothing is found under its own name.

    That is its beginning without what is said beside it; then, where no illness is named, what the clinical reader
    takes the words for.

    >>> other_readings("Loose stools, no blood"), other_readings("Wear and tear of both knees")
    (('diarrhoea',), ('osteoarthritis',))
    """
    head = _WITHOUT.split(diagnosis, maxsplit=1)[0].strip() or diagnosis
    spans = () if illnesses_of(diagnosis) else read_context(head).spans
    meant = (
        [name for name, _ in span.meanings]
        for span in spans
        if span.kind in ("condition", "symptom") and _is_meant(span.meanings)
    )
    found = (written_out(head), *(names[0] for names in meant if names[0] != "none"))
    return tuple(name for name in dict.fromkeys(found) if name not in (diagnosis, written_out(diagnosis)))


def _is_meant(meanings: Sequence[tuple[str, float]]) -> bool:
    """Whether the reader is sure enough of its first meaning; a broader or narrower name of it counts for it."""
    if not meanings:
        return False
    first = meanings[0][0]
    kin = (share for name, share in meanings if name == first or _is_kin(name, first))
    return sum(kin) >= SURE_MEANING


def _is_kin(one: str, other: str) -> bool:
    return any(are_related(name, own) for name in named_illnesses(one) for own in named_illnesses(other))


@lru_cache(maxsize=1_000)
def illnesses_of(diagnosis: str) -> frozenset[str]:
    """The illnesses that a diagnosis is, without those that it only names beside them.

    >>> sorted(illnesses_of("Raised cholesterol after heart attack")), sorted(illnesses_of("Post-stroke pneumonia"))
    (['hypercholesterolaemia'], ['pneumonia'])
    >>> sorted(illnesses_of("Glue ear infection"))
    ['otitis media']
    """
    found, end, own = illnesses(diagnosis), 0, []
    for illness in found:
        own += [] if _BESIDE.search(diagnosis, end, illness.start) else [illness.name]
        end = illness.end
    named = frozenset(own or (illness.name for illness in found)) or parted_illnesses(diagnosis)
    return frozenset(name for name in named if not any(name in wider(other) for other in named - {name}))


def is_label(title: str) -> bool:
    """Whether a document is printed with a medicine, by its title: it is on the medicine, not on an illness."""
    return bool(medicines(title)) and not named_illnesses(title)


def _chosen(condition: str, entry: LibraryEntry, document: Document) -> ChosenGuideline | None:
    title = document.title or entry.title
    asked, told = illnesses_of(condition), named_illnesses(title)
    is_whole = bool(asked & told) or names_illness(title, condition)
    if is_label(title):
        return _label(condition, entry, document)
    is_other = bool(told) and not is_whole and not any(are_related(one, other) for one in told for other in asked)
    deepest = CHAPTER_DEPTH if is_other else None
    if told and not is_whole and not is_other and _speaks_of_any(title, asked) and not _is_divided(document):
        return ChosenGuideline(entry, document, None, _closeness(condition, title))
    headings = headings_of(document, deepest)
    own = frozenset(heading for heading in headings if is_heading_on(heading, condition))
    if told and not own and not is_other:
        own = frozenset(heading for heading in headings if _names_part(heading, condition))
    if is_whole or (
        told and not is_other and (_is_told_at_the_start(document, asked) or (not own and _speaks_of_any(title, asked)))
    ):
        return ChosenGuideline(entry, document, None, _closeness(condition, title))
    return ChosenGuideline(entry, document, own, max(_closeness(condition, one) for one in own)) if own else None


def _label(condition: str, entry: LibraryEntry, document: Document) -> ChosenGuideline | None:
    """What is printed with a medicine for the illness, from where it says how it is given.

    Where it is for several illnesses, a heading of that section must name this one: what a medicine prevents stands
    among its uses too. A diagnosis may name the medicine itself.
    """
    asked, medicine = illnesses_of(condition), medicines(document.title or entry.title)[0].name
    uses, doses = set[str](), set[str]()
    for block in document.blocks:
        titles = [NUMBER.sub("", title) for title in block.section]
        words = document.text[block.start : block.end]
        uses |= named_illnesses(words) if any(map(_USES.search, titles)) else frozenset()
        if any(map(_DOSING.search, titles)) and len(words.split()) <= MAX_PART_WORDS:
            doses |= named_illnesses(words)
    headings = {title for title in headings_of(document) if _DOSING.search(NUMBER.sub("", title))}
    whole = frozenset(title for title in headings if NUMBER.match(title)) or frozenset(headings)
    is_for_it = bool(asked & uses) if len(uses) == 1 else any(wider(name) & uses for name in asked & doses)
    is_for_it = is_for_it or medicine in {one.name for one in medicines(condition)}
    return ChosenGuideline(entry, document, whole, 0.0, medicine) if is_for_it and whole else None


@lru_cache(maxsize=50_000)
def may_be_on(condition: str, title: str) -> bool:
    """Whether a document may be on a diagnosis by its title alone, so that it is worth opening."""
    asked, told = illnesses_of(condition), named_illnesses(title)
    return names_illness(title, condition) or any(are_related(one, other) for one in told for other in asked)


def _is_divided(document: Document) -> bool:
    """Whether a guideline has its sections on many illnesses, one for each, as one on all cancers has."""
    named = (named_illnesses(heading) for heading in headings_of(document))
    return len(frozenset().union(*named)) > MAX_FORMS


def _speaks_of_any(title: str, asked: Iterable[str]) -> bool:
    """Whether a title names an illness asked about, or a form of it under the same name; heart failure is one alone.

    >>> asked = {"Community-acquired pneumonia": "pneumonia", "Heart failure": "heart disease"}
    >>> [_speaks_of_any(title, [illness]) for title, illness in asked.items()]
    [True, False]
    """
    told = named_illnesses(title)
    return any(
        speaks_of(title, one) and any(set(terms(one)) <= set(terms(name)) or name in wider(one) for name in told)
        for one in asked
    )


def _is_told_at_the_start(document: Document, asked: frozenset[str]) -> bool:
    """Whether the words with which a guideline begins name the illness as one of those that it is on."""
    bodies = [block for block in document.blocks if block.kind == "paragraph" and may_advise(block.section)]
    opening = (document.text[block.start : block.end] for block in bodies if block.section == bodies[0].section)
    return bool(asked & named_illnesses(" ".join(opening)[:OPENING]))


def headings_of(document: Document, deepest: int | None = None) -> tuple[str, ...]:
    """Every heading of a document over what may advise, once, down to a depth."""
    advising = (block for block in document.blocks if may_advise(block.section))
    return tuple(dict.fromkeys(title for block in advising for title in block.section[:deepest]))


@lru_cache(maxsize=20_000)
def is_heading_on(heading: str, condition: str) -> bool:
    """Whether a heading is the name of an illness, with nothing beside it but what is done about it.

    >>> is_heading_on("1.3 Colorectal cancer", "Suspected colorectal cancer")
    True
    >>> is_heading_on("Treatment review when type 2 diabetes is diagnosed", "Type 2 diabetes")
    False
    """
    bare = NUMBER.sub("", heading)
    beside = set(terms(bare)) - _words(_AROUND) - _words(_QUALIFYING) - _words(_LITTLE)
    if not beside:
        return False
    asked, told = illnesses_of(condition), named_illnesses(bare)
    named = frozenset(word for name in told & asked for other in (name, *other_names(name)) for word in terms(other))
    is_same = bool(told & asked) and told <= asked and beside <= named | set(terms(condition))
    return is_same or any(beside == telling for telling in _telling_names(condition))


@lru_cache(maxsize=20_000)
def names_illness(title: str, condition: str) -> bool:
    """Whether a title has every word of a name of the illness that tells it from others.

    >>> names_illness("Self-monitoring of blood pressure during pregnancy", "Gestational hypertension")
    True
    >>> names_illness("Pneumonia: diagnosis and management", "Acute bronchitis")
    False
    """
    held = set(terms(title))
    return any(name <= held for name in _telling_names(condition))


@lru_cache(maxsize=20_000)
def names_form(heading: str, title: str, form: str) -> bool:
    """Whether a heading names the form of an illness that a diagnosis is, which the title of its chapter does not.

    >>> [names_form(one, "ASTHMA", "Acute severe asthma") for one in ("Acute asthma episodes", "Asthma", "Mild asthma")]
    [True, False, False]
    """
    own = named_illnesses(heading) & illnesses_of(form)
    if own and not own & named_illnesses(title):
        return True
    words = set(terms(NUMBER.sub("", heading))) - _words(_AROUND) - _words(_EPISODE)
    return words <= set(terms(form)) and bool(words - set(terms(title))) and bool(words & set(terms(title)))


def _names_part(heading: str, condition: str) -> bool:
    """Whether a heading of a guideline on a group of illnesses names this one among others."""
    return len(heading.split()) <= MAX_PART_WORDS and names_illness(heading, condition)


@lru_cache(maxsize=1_000)
def names_of(condition: str) -> tuple[str, ...]:
    """A diagnosis as it was entered, and what else the illness is called."""
    others = [name for illness in illnesses_of(condition) for name in (illness, *other_names(illness))]
    entered = " ".join((condition, *others)).casefold()
    same = (
        name
        for row in rows("same_illness.tsv")
        if any(one in entered for one in row[0].split("|"))
        for name in row[0].split("|")
    )
    concepts = (mention.name for mention in mentions(condition) if len(mention.name.split()) > 1)
    told = (name for name in others if name[-1:] != "?")
    return tuple(dict.fromkeys((condition, *told, *same, *concepts)))


@lru_cache(maxsize=1_000)
def _telling_names(condition: str) -> tuple[frozenset[str], ...]:
    """The words of each name that tell the illness from others; of the one that was entered, without its form."""
    entered, *others = names_of(condition)
    named = " ".join(entered[illness.start : illness.end] for illness in illnesses(entered))
    told = [frozenset(terms(entered)) - (_words(_QUALIFYING) - frozenset(terms(named))) - _words(_LITTLE)]
    told += [frozenset(terms(name)) - _words(_LITTLE) for name in others]
    return tuple(words for words in told if words)


@cache
def _words(several: str) -> frozenset[str]:
    return frozenset(terms(several)) | frozenset(several.split())


def _closeness(condition: str, title: str) -> float:
    held = set(terms(title))
    parts = (len(words & held) / len(words) for name in names_of(condition) if (words := set(terms(name))))
    return round(max(parts, default=0.0), 2)


_SPACE = re.compile(r"\s+")


def plain(text: str) -> str:
    """Words on one line."""
    return _SPACE.sub(" ", text).strip()
