"""Tells where words are for people with a disease that this patient is not known to have, or without one they have."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from citewell.assistants.consult.mentions import Mention, find_mentions
from citewell.types.consult import COMPLAINTS, Category, Finding, Polarity
from citewell.words import terms

_PEOPLE = (
    r"(?:people|patients?|persons?|individuals|wom[ae]n|m[ae]n|adults?|child(?:ren)?|infants?|babies|adolescents|girls"
    r"|boys|those|anyone|everyone|someone|pregnan(?:t|cy|cies)|mothers|who)"
)
_PLAIN = (
    r"(?:(?!\b(?:should|must|is|are|for|to|by|in|when|can|may|at|on|from|that|but|give|offer"
    r"|(?<!history )(?<!diagnosis )of)\b)"
    r"[^.;:]){0,40}"
)
_GAP = rf"{_PLAIN}(?:\b(?:due to|secondary to|caused by|because of)\b{_PLAIN})?"
"""What may stand between “with” and a disease: “with liver failure due to suspected or confirmed yellow fever”."""
_WITH = re.compile(
    rf"(?:\b{_PEOPLE}\b[^.;]{{0,60}}?\b(?P<how>with(?:out)?(?:\s+or\s+without)?|have|has|having|living\s+with"
    rf"|affected\s+by)|\b(?P<how_not>(?:do|does|who)\s+not\s+have))\b{_GAP}$",
    re.IGNORECASE,
)
_NOT = re.compile(r"without|not\s+have", re.IGNORECASE)
_EITHER = re.compile(r"with\s+or\s+without", re.IGNORECASE)
_ELSE = re.compile(r"\bor\b(?!\s+(?:over|older|above|more|under|younger|below|less))", re.IGNORECASE)
_OR = re.compile(r"\bor\b|,|/", re.IGNORECASE)
_TYPE = re.compile(r"\btype\s+(\d|i{1,3})\b|\b(?:hepatitis|influenza)\s+([a-e])\b", re.IGNORECASE)
_ROW_FOR = re.compile(r"\bpossible (?:cancer|condition|disease|diagnosis|cause): (?P<what>[^;]+);", re.IGNORECASE)
"""A row of a table that says which diagnosis it is for."""
_COMMON = (
    "disease diseases disorder disorders syndrome acute chronic type mellitus severe stage infection infections "
    "condition illness cell cancer carcinoma tumour primary secondary failure pregnancy pregnant woman women man men "
    "child children adult fever pain bleeding haemorrhage haemorrhagic "
    "adults people guideline management treatment"
)
"""Words that two diseases, or a disease and a title, may share without being about one."""


@cache
def _common() -> frozenset[str]:
    return frozenset(terms(_COMMON))


@dataclass(frozen=True, slots=True)
class Known:
    """What a patient is treated for, and what they are known to have or have had."""

    names: tuple[str, ...]
    takes_nothing: bool = False
    """It was said that no medicines are taken."""

    def speaks_of_it(self, title: str) -> bool:
        """Whether a title has a word of the diagnosis that tells diseases apart."""
        return bool((set(terms(title)) & set(terms(self.names[0]))) - _common())

    def has(self, one: Mention) -> bool:
        """Whether a named disease is among them: the same concept, or a word that tells diseases apart.

        >>> known = Known(("Malaria", "Fever"))
        >>> [known.has(one) for one in diseases_in("Guideline on yellow fever and malaria")]
        [False, True]
        """
        return any(_is_same(one, name) for name in self.names)


@dataclass(frozen=True, slots=True)
class _Having:
    """Diseases behind one “with” or “without”."""

    is_without: bool
    diseases: tuple[Mention, ...]
    is_any: bool
    end: int


def known_of(condition: str, findings: Sequence[Finding]) -> Known:
    """The diagnosis that is thought of, and every complaint or illness that is present or past."""
    held = (Polarity.PRESENT, Polarity.PAST)
    names = [one.name for one in findings if one.category in COMPLAINTS and one.polarity in held]
    taken = {one.polarity for one in findings if one.category is Category.MEDICATION}
    takes_nothing = Polarity.ABSENT in taken and Polarity.PRESENT not in taken
    return Known((condition, *dict.fromkeys(names)), takes_nothing)


@lru_cache(maxsize=20_000)
def other_disease(text: str, known: Known) -> str | None:
    """Why words that name people with a disease are not for this patient; None where they may be.

    >>> known = known_of("Malaria", ())
    >>> other_disease("Treatment of malaria in pregnant women with sickle-cell disease", known)
    'for people with sickle cell disease; the patient is not known to have it'
    >>> other_disease("Treat people with severe malaria or diabetes at once.", known) is None
    True
    >>> other_disease("Feature: Weight loss; Possible cancer: Colorectal; Do: Test", known)
    'for colorectal; the diagnosis is Malaria'
    """
    if (row := _ROW_FOR.search(text)) and not _is_for(row["what"], known):
        return f"for {row['what'].strip().lower()}; the diagnosis is {known.names[0]}"
    lead, colon, _ = text.partition(":")
    every = _havings(text)
    before = [one for one in every if colon and one.end <= len(lead)]
    items = [one for one in every if one not in before]
    return _against(text, before, known) or _against(text, items, known)


def _is_for(what: str, known: Known) -> bool:
    """Whether what a row of a table is for is the diagnosis, or shares a word with it that tells diseases apart."""
    return bool((set(terms(what)) & set(terms(known.names[0]))) - _common()) or "several" in what.casefold()


def _against(text: str, every: Sequence[_Having], known: Known) -> str | None:
    """The first reason against; where “or” stands between, one that holds is enough."""
    reasons = [_reason(one, known) for one in every]
    against = [reason for reason in reasons if reason]
    if not against:
        return None
    is_any = _ELSE.search(text[every[0].end : every[-1].diseases[0].start])
    return None if is_any and len(against) < len(reasons) else against[0]


def is_own(text: str, known: Known) -> bool:
    """Whether words are for people with an illness that this patient has beside the diagnosis."""
    own = Known(known.names[1:])
    every = _havings(text)
    return any(own.has(disease) for one in every if not one.is_without for disease in one.diseases)


@lru_cache(maxsize=20_000)
def on_another(document: str, section: tuple[str, ...], known: Known) -> str | None:
    """Why a section of a guideline on several diseases is not for this one: its title names another of them.

    >>> known = known_of("Malaria", ())
    >>> on_another("Malaria and tuberculosis", ("Treatment of tuberculosis",), known)
    'on tuberculosis; the diagnosis is Malaria'
    >>> on_another("Malaria", ("Treatment of tuberculosis",), known) is None
    True
    """
    every = diseases_in(document)
    others = [one for one in every if not known.has(one)]
    if not others or len(others) == len(every):
        return None
    for title in section:
        named = diseases_in(title) if title != document else ()
        if named and not any(map(known.has, named)):
            other = next((one for one in named if any(one.name == theirs.name for theirs in others)), None)
            if other is not None:
                return f"on {other.name.lower()}; the diagnosis is {known.names[0]}"
    return None


@lru_cache(maxsize=10_000)
def diseases_in(text: str) -> tuple[Mention, ...]:
    """The diseases that words name; the same titles are found again and again."""
    return tuple(one for one in find_mentions(text) if one.category is Category.MEDICAL_HISTORY)


def _havings(text: str) -> list[_Having]:
    found: dict[int, tuple[str, list[Mention]]] = {}
    if not re.search(r"\b(?:with|without|have|has|having|affected)\b", text, re.IGNORECASE):
        return []
    for one in diseases_in(text):
        match = _WITH.search(text[: one.start])
        if match is None:
            continue
        how = match["how_not"] or match["how"]
        at = match.end("how_not" if match["how_not"] else "how")
        is_not = re.search(r"\bnot\s+$", text[: at - len(how)], re.IGNORECASE)
        if not _EITHER.search(how):
            found.setdefault(at, (f"not {how}" if is_not else how, []))[1].append(one)
    return [
        _Having(
            _NOT.search(how) is not None,
            tuple(diseases),
            _OR.search(text[diseases[0].start : diseases[-1].end]) is not None,
            diseases[-1].end,
        )
        for how, diseases in found.values()
    ]


def _reason(one: _Having, known: Known) -> str | None:
    if one.is_without:
        had = next((disease for disease in one.diseases if known.has(disease)), None)
        return None if had is None else f"for people without {had.name.lower()}; the patient has it"
    lacking = [disease for disease in one.diseases if not known.has(disease)]
    if not lacking or (one.is_any and len(lacking) < len(one.diseases)):
        return None
    return f"for people with {lacking[0].name.lower()}; the patient is not known to have it"


@lru_cache(maxsize=20_000)
def _is_same(one: Mention, name: str) -> bool:
    told = find_mentions(name)
    theirs, mine = _types(one.name), _types(" ".join((name, *(other.name for other in told))))
    if theirs and mine and theirs.isdisjoint(mine):
        return False
    if one.concept is not None and any(other.concept == one.concept for other in told):
        return True
    words = {word for other in (name, *(mention.name for mention in told)) for word in terms(other)}
    theirs_all = set(terms(one.name))
    shared = theirs_all & words
    return bool(shared - _common()) or (bool(shared) and theirs_all <= _common())


def _types(name: str) -> frozenset[str]:
    """Which kinds of a disease a name tells apart: type 1 diabetes is not type 2, hepatitis B is not C.

    >>> sorted(_types("Type II diabetes mellitus")), _types("Diabetes mellitus")
    (['2'], frozenset())
    """
    written = (match[1] or match[2] for match in _TYPE.finditer(name))
    return frozenset({"i": "1", "ii": "2", "iii": "3"}.get(one.lower(), one.lower()) for one in written)
