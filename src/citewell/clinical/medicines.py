"""Medicines in a text: every name of the table, and words that end like an international drug name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell import vocabulary
from citewell.clinical.tables import rows
from citewell.clinical.tokens import fold, joins
from citewell.work import spend

_WORD = re.compile(r"[^\W_]+")
_SHORTEST_BY_STEM = 7
"""Letters below which an ending says nothing: April is no ACE inhibitor."""


@dataclass(frozen=True, slots=True)
class Medicine:
    """Where a text names a medicine, or a class of medicines."""

    start: int
    end: int
    name: str
    """The name of the row, so that brand and generic are one."""
    family: str
    """The class it belongs to; of a class, its own name."""
    is_class: bool


@cache
def _table() -> tuple[dict[tuple[str, ...], tuple[str, str, bool]], dict[str, int], dict[str, str]]:
    """Folded words of each name -> (name, family, is class); the most words after a first word; stems."""
    names: dict[tuple[str, ...], tuple[str, str, bool]] = {}
    longest: dict[str, int] = {}
    stems: dict[str, str] = {}
    for kind, name, *more in rows("medicines.tsv"):
        family, others = [*more, "", ""][:2]
        if kind == "stem":
            stems[name] = family
            continue
        for written in (name, *others.split("|")) if others else (name,):
            words = tuple(_WORD.findall(written.casefold()))
            names.setdefault(words, (name, family or name, kind == "class"))
            longest[words[0]] = max(longest.get(words[0], 0), len(words))
    return names, longest, stems


@lru_cache(maxsize=50_000)
def _may_begin(word: str) -> bool:
    """Whether a name of a medicine may begin with a word."""
    _, longest, stems = _table()
    return word in longest or _singular(word) in longest or word.endswith(tuple(stems))


@lru_cache(maxsize=4096)
def medicines(text: str) -> tuple[Medicine, ...]:
    """Every medicine that a sentence names, in order.

    >>> [(found.name, found.family, found.is_class) for found in medicines("Lipitor and other statins, not aspirin")]
    [('atorvastatin', 'statin', False), ('statin', 'statin', True), ('aspirin', 'antiplatelet', False)]
    """
    spend()
    names, longest, _ = _table()
    words = [(match.start(), match.end(), match.group().casefold()) for match in _WORD.finditer(text)]
    found: list[Medicine] = []
    at = 0
    while at < len(words):
        start, end, word = words[at]
        if not _may_begin(word):
            at += 1
            continue
        most = min(max(longest.get(word, 0), longest.get(_singular(word), 0)), len(words) - at)
        size = min(1, most)
        while size < most and _is_joined(text, words[at + size - 1][1], words[at + size][0]):
            size += 1
        known = None
        while size and known is None:
            run = tuple(part for _, _, part in words[at : at + size])
            known = names.get(run) or names.get((*run[:-1], _singular(run[-1])))
            size -= known is None
        known = known or _by_stem(word)
        if known is not None:
            found.append(Medicine(start, words[at + max(size, 1) - 1][1] if size else end, *known))
        at += max(size, 1)
    return tuple(found)


def _is_joined(text: str, end: int, start: int) -> bool:
    """Whether one name may run over two words; that of a mixture has a stroke or a plus in it."""
    return joins(text, end, start) or text[end:start].strip() in ("/", "+")


@cache
def class_names(family: str) -> tuple[str, ...]:
    """The names of a class of medicines, as the table writes them.

    >>> class_names("NSAID")[:2]
    ('NSAID', 'non-steroidal anti-inflammatory drug')
    """
    for kind, name, *more in rows("medicines.tsv"):
        if kind == "class" and name == family:
            others = [*more, "", ""][1]
            return (name, *filter(None, others.split("|")))
    return ()


@cache
def members(family: str) -> tuple[str, ...]:
    """What a question for a class of medicines may be answered with, best known first.

    >>> members("analgesic")[:3]
    ('paracetamol', 'ibuprofen', 'NSAID')
    """
    kinds: dict[str, str] = {row[0]: row[1] for row in rows("medicine_kinds.tsv")}
    return tuple(kinds[family].split("|")) if family in kinds else ()


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def _by_stem(word: str) -> tuple[str, str, bool] | None:
    stems = _table()[2]
    if len(word) < _SHORTEST_BY_STEM or not word.endswith(tuple(stems)):
        return None
    stem = max((stem for stem in stems if word.endswith(stem)), key=len)
    return word, stems[stem], False


@cache
def medicine_words() -> frozenset[str]:
    """Every word by which a medicine is known, folded."""
    named = (row for row in rows("medicines.tsv") if row[0] != "stem")
    names = (name for row in named for name in (row[1], *"|".join(row[3:]).split("|")))
    return frozenset(fold(word) for name in names for word in _WORD.findall(name))


@cache
def medicine_endings() -> tuple[str, ...]:
    """Endings of medicines: a word with one names a medicine, listed or not."""
    return tuple(row[1] for row in rows("medicines.tsv") if row[0] == "stem")


# --------------------------------------------------------------------------------------------- groups below the classes


@cache
def _subclass_table() -> tuple[tuple[tuple[str, ...], re.Pattern[str], frozenset[str]], ...]:
    """The names of each group, a pattern for them, and its members."""
    rows = [(tuple(names.split("|")), frozenset(of.split("|"))) for names, of in vocabulary.rows("subclasses.tsv")]
    return tuple(
        (names, re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})s?\b", re.IGNORECASE), of) for names, of in rows
    )


@lru_cache(maxsize=4096)
def subclasses(text: str) -> tuple[frozenset[str], ...]:
    """The members of each group that a text names.

    >>> [sorted(one)[:2] for one in subclasses("Do not bridge patients who take a DOAC.")]
    [['apixaban', 'dabigatran']]
    """
    return tuple(of for _, pattern, of in _subclass_table() if pattern.search(text))


def subclass_names(medicine: str) -> tuple[str, ...]:
    """The abbreviations of the groups that a medicine belongs to: longer names are of common words.

    >>> subclass_names("apixaban"), subclass_names("warfarin")
    (('DOAC', 'NOAC'), ())
    """
    return tuple(name for names, _, of in _subclass_table() if medicine in of for name in names if name.isupper())


# ------------------------------------------------------------------------------------------------------ cross-reactions


def reacts(allergen: str, names: Sequence[str]) -> str | None:
    """Whether an allergy may be to a medicine of these names: an empty word for the same, or their group.

    >>> reacts("penicillin", ["amoxicillin"]), reacts("penicillin", ["penicillin"]), reacts("penicillin", ["aspirin"])
    ('penicillins', '', None)
    """
    if substances(allergen) & substances(*names):
        return ""
    for group in _cross_reactions():
        if group.holds(allergen) and any(group.holds(name) for name in names):
            return group.name
    return None


def is_known_name(written: str) -> bool:
    """Whether a name is that of a medicine, a class, or a group that people are allergic to.

    >>> [is_known_name(name) for name in ("Lipitor", "sulfa drugs", "blopresta")]
    [True, True, False]
    """
    return bool(medicines(written)) or any(group.holds(written) for group in _cross_reactions())


def substances(*names: str) -> frozenset[str]:
    """What is meant by names: the usual name of each medicine, or the words themselves where it is none we know."""
    found = {medicine.name for name in names for medicine in medicines(name) if not medicine.is_class}
    return frozenset(found or {" ".join(name.casefold().split()) for name in names})


@dataclass(frozen=True, slots=True)
class _CrossReactions:
    """Medicines of which one may stand for another in an allergy."""

    name: str
    called: frozenset[str]
    classes: frozenset[str]
    members: frozenset[str]

    def holds(self, written: str) -> bool:
        """Whether a name is the group's own, or that of one of its medicines."""
        folded = " ".join(written.casefold().split())
        if folded in self.called:
            return True
        return any(medicine.family in self.classes or medicine.name in self.members for medicine in medicines(written))


@cache
def _cross_reactions() -> tuple[_CrossReactions, ...]:
    made = []
    for name, called, classes, members in vocabulary.rows("cross_reactions.tsv"):
        split = [frozenset(one for one in cell.split("|") if one) for cell in (called.casefold(), classes, members)]
        made.append(_CrossReactions(name, *split))
    return tuple(made)
