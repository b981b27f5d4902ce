"""The nouns of a rule's criteria: a tree of conditions that code can evaluate and that renders back to a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Literal, assert_never


class CriterionState(StrEnum):
    """What the record says of a condition."""

    MET = "met"
    ASSUMED = "assumed"
    NOT_MET = "not met"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class JudgedCriterion:
    """One condition, its state, and the words of the record that decided."""

    text: str
    state: CriterionState
    fact: str | None
    ask: str | None = None
    """What to confirm or ask next."""
    is_clinical: bool = False
    """The fact is a symptom, finding or result that speaks for it."""
    is_fixed: bool = False
    """Nothing that could turn out otherwise: sex, or being a child."""


@dataclass(frozen=True, slots=True)
class CriteriaOutcome:
    """What became of a tree: its state, its conditions, and the ways in which it would be met."""

    state: CriterionState
    judged: tuple[JudgedCriterion, ...]
    ways: tuple[tuple[JudgedCriterion, ...], ...] = ((),)
    """What would have to change: the fewest conditions first, then others that may be so already."""
    is_relevant: bool = False
    """Something that the patient has speaks for it."""

    @property
    def missing(self) -> tuple[JudgedCriterion, ...]:
        """The fewest conditions that would have to change."""
        return self.ways[0]


@dataclass(frozen=True, slots=True)
class AgeRange:
    """From one birthday up to another; the text is the guideline's."""

    text: str
    age_from: int | None = None
    age_below: int | None = None
    population: str | None = None
    """The word that it was read from (“children”), where the guideline names a group rather than an age."""


@dataclass(frozen=True, slots=True)
class Sex:
    """Who has the organ: by sex unless the record lists organs."""

    text: str
    sex: Literal["female", "male"]
    organ: str | None = None


@dataclass(frozen=True, slots=True)
class Exposure:
    """What a person did or met in life: “smoking”, “asbestos”."""

    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Quality:
    """Words that narrow a finding (“persistent or recurrent”): one of them is enough."""

    text: str
    names: tuple[str, ...]
    more_than_days: int | None = None
    within_days: int | None = None


@dataclass(frozen=True, slots=True)
class FindingCriterion:
    """A symptom, a sign, a diagnosis or the outcome of a test, with what must be true of it."""

    text: str
    """As the guideline words it."""
    phrase: str
    """The thing itself, which is looked for in the record."""
    qualities: tuple[Quality, ...] = ()
    detail: str | None = None
    """What it must suggest or be consistent with."""


@dataclass(frozen=True, slots=True)
class Absence:
    """What must not be there: “without urinary tract infection”."""

    text: str
    phrase: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A measurement held against a number."""

    text: str
    test: str
    comparison: Literal[">", ">=", "<", "<="]
    value: float
    unit: str | None


@dataclass(frozen=True, slots=True)
class MeetsOtherRules:
    """The criteria of other rules."""

    text: str
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeedsReading:
    """Words that the parser cannot express: a person has to read them."""

    text: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part."""

    parts: tuple[Criteria, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least so many of the parts; one unless the guideline says more."""

    parts: tuple[Criteria, ...]
    at_least: int = 1


Condition = AgeRange | Sex | Exposure | FindingCriterion | Absence | Threshold | MeetsOtherRules | NeedsReading
Criteria = Condition | AllOf | AnyOf


def all_of(*parts: Criteria) -> Criteria:
    """Every part, flat; one part is itself.

    >>> all_of(AgeRange("aged 40 and over", 40), all_of(FindingCriterion("cough", "cough"))) == all_of(
    ...     AgeRange("aged 40 and over", 40), FindingCriterion("cough", "cough"))
    True
    """
    flat = tuple(one for part in parts for one in (part.parts if isinstance(part, AllOf) else (part,)))
    return flat[0] if len(flat) == 1 else AllOf(flat)


def any_of(*parts: Criteria, at_least: int = 1) -> Criteria:
    """At least so many of the parts; alternatives of alternatives are flat."""
    if at_least > 1:
        return AnyOf(parts, at_least)
    flat = tuple(
        one for part in parts for one in (part.parts if isinstance(part, AnyOf) and part.at_least == 1 else (part,))
    )
    return flat[0] if len(flat) == 1 else AnyOf(flat)


def conditions(tree: Criteria) -> Iterator[Condition]:
    """The leaves, in the order of the text."""
    if isinstance(tree, AllOf | AnyOf):
        for part in tree.parts:
            yield from conditions(part)
    else:
        yield tree


def described(condition: Condition) -> str:
    """A condition in words.

    >>> described(FindingCriterion("an unexplained lump", "lump", (Quality("unexplained", ("unexplained",)),)))
    'unexplained lump'
    """
    match condition:
        case FindingCriterion(phrase=phrase, qualities=qualities, detail=detail):
            before = [quality.text for quality in qualities if quality.text == " or ".join(quality.names)]
            after = [quality.text for quality in qualities if quality.text != " or ".join(quality.names)]
            return " ".join([*before, phrase, *after, *([detail] if detail else [])])
        case Absence(phrase=phrase):
            return f"no {phrase}"
        case NeedsReading(text=text):
            return f"[to be read: {text}]"
        case AgeRange() | Sex() | Exposure() | Threshold() | MeetsOtherRules():
            return condition.text
    assert_never(condition)


def render(tree: Criteria) -> str:
    """The tree as a sentence that can be compared with the rule.

    >>> either = any_of(FindingCriterion("x", "jaundice"), FindingCriterion("y", "fever"))
    >>> render(all_of(AgeRange("aged 40 and over", 40), either))
    'aged 40 and over AND (jaundice OR fever)'
    """
    match tree:
        case AllOf(parts=parts):
            return " AND ".join(_inner(part) for part in parts)
        case AnyOf(parts=parts, at_least=1):
            return " OR ".join(_inner(part) for part in parts)
        case AnyOf(parts=parts, at_least=count):
            return f"at least {count} of ({'; '.join(_inner(part) for part in parts)})"
        case _:
            return described(tree)


def _inner(part: Criteria) -> str:
    is_several = isinstance(part, AllOf) or (isinstance(part, AnyOf) and part.at_least == 1)
    return f"({render(part)})" if is_several else render(part)


def as_json(tree: Criteria) -> dict[str, Any]:
    """The tree as nested objects: `all`, `any` with `at_least`, or one condition with its kind and fields."""
    if isinstance(tree, AllOf):
        return {"all": [as_json(part) for part in tree.parts]}
    if isinstance(tree, AnyOf):
        return {"any": [as_json(part) for part in tree.parts], "at_least": tree.at_least}
    return {"kind": KINDS[type(tree)], **asdict(tree), "text": described(tree)}


KINDS: dict[type[Condition], str] = {
    AgeRange: "age",
    Sex: "sex",
    Exposure: "exposure",
    FindingCriterion: "finding",
    Absence: "absence",
    Threshold: "threshold",
    MeetsOtherRules: "meets",
    NeedsReading: "needs_reading",
}
