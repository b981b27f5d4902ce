"""Works out the scores that a guideline prints as boxes: each item with its points, and what is still to be asked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.assistants.guidelines.criteria import Criteria, CriterionState, NeedsReading, any_of, conditions
from citewell.assistants.guidelines.evaluate import evaluate, said_part
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.guideline import Guideline, RuleTable
from citewell.assistants.guidelines.parse_criteria import RuleText, parse_criteria
from citewell.assistants.guidelines.parse_numbers import parse_threshold
from citewell.assistants.guidelines.populations import Terms

FEWEST_ITEMS, FEWEST_THERE = 3, 2
_BULLET = r"(?:[•–◦▪-]\s*)"
_EACH = re.compile(r"\b(?P<points>\d+) points? (?:for )?each\b", re.IGNORECASE)
_INLINE = re.compile(
    r"[•–◦▪-]?(?P<item>\D.+?)(?:(?<!\s)\s++)?(?::|\(|–|-)\s*\+?(?P<points>\d+) points?\)?[.,;]?", re.IGNORECASE
)
_BAND = re.compile(
    rf"{_BULLET}?(?:scores? (?:of )?)?(?P<low>\d+)(?:\s*(?:or|to|–|-)\s*(?P<high>\d+|more|above|over|higher))?\s*:"
    r"\s*(?P<meaning>.+?)[.;]?",
    re.IGNORECASE,
)
_AGE = re.compile(r"\bage[d]?\s+(?P<years>\d+)(?: years)?\s+(?:or|and)\s+(?:more|over|older|above)", re.IGNORECASE)
_MEASURED = re.compile(r"(?P<name>[^()]+?)(?:(?<!\s)\s++)?\((?=[^()]*\d)(?P<limits>[^()]++)\)")
_CHANGE = re.compile(r"^(?:raised|low|lowered|high|reduced|increased|decreased|abnormal)\s+", re.IGNORECASE)
_NO_WORDS = RuleText(Terms.of(()), ())


@dataclass(frozen=True, slots=True)
class ScoreItem:
    """One item of a score, as it is printed."""

    text: str
    points: int
    criteria: Criteria


@dataclass(frozen=True, slots=True)
class Score:
    """A score as a guideline prints it."""

    table: RuleTable
    items: tuple[ScoreItem, ...]
    bands: tuple[tuple[int, int, str], ...]
    """From, up to, and what the guideline says of it."""

    @property
    def most(self) -> int:
        return sum(item.points for item in self.items)


@dataclass(frozen=True, slots=True)
class JudgedItem:
    """One item held against a record."""

    item: ScoreItem
    state: CriterionState
    fact: str | None


@dataclass(frozen=True, slots=True)
class WorkedScore:
    """A score of a patient: what is there, what is not, and what nobody has said."""

    guideline: Guideline
    score: Score
    items: tuple[JudgedItem, ...]

    @property
    def total(self) -> int:
        """The points that are sure or assumed."""
        return self._points(CriterionState.MET, CriterionState.ASSUMED)

    @property
    def highest(self) -> int:
        """The points if everything that is not known were there."""
        return self.total + self._points(CriterionState.UNKNOWN)

    @property
    def meaning(self) -> str | None:
        """What the guideline says of this score; None while missing items could change it."""
        bands = {self._band(points) for points in (self.total, self.highest)}
        return bands.pop() if len(bands) == 1 else None

    def _points(self, *states: CriterionState) -> int:
        return sum(judged.item.points for judged in self.items if judged.state in states)

    def _band(self, points: int) -> str | None:
        return next((meaning for low, high, meaning in self.score.bands if low <= points <= high), None)

    def shown(self) -> dict[str, object]:
        """As the views show it."""
        return {
            "guideline": self.guideline.name,
            "name": self.score.table.title,
            "page": self.score.table.page,
            "rules": [rule.id for rule in self.guideline.rules if self.score.table in rule.tables],
            "total": self.total,
            "highest": self.highest,
            "most": self.score.most,
            "meaning": self.meaning,
            "items": [
                {
                    "text": judged.item.text,
                    "points": judged.item.points,
                    "state": judged.state.value,
                    "fact": judged.fact,
                }
                for judged in self.items
            ],
            "ask": [judged.item.text for judged in self.items if judged.state is CriterionState.UNKNOWN],
        }


def worked_scores(record: PatientRecord, guidelines: Sequence[Guideline]) -> tuple[WorkedScore, ...]:
    """The scores of which the record says more than the age; each item is asked for that nobody has said."""
    found = []
    for guideline in guidelines:
        for score in read_scores(guideline.tables):
            worked = WorkedScore(
                guideline, score, tuple(_judged(item, score, record, guideline) for item in score.items)
            )
            if _applies(worked, record):
                found.append(worked)
    return tuple(found)


def _applies(worked: WorkedScore, record: PatientRecord) -> bool:
    """Whether the record speaks of what a score is for: as a rule that asks for it says, or by two of its items."""
    there = [judged.item for judged in worked.items if judged.state in _THERE]
    if all(_AGE.search(item.text) for item in there):
        return False
    rules = [rule for rule in worked.guideline.rules if worked.score.table in rule.tables]
    outcomes = [evaluate(rule.criteria, record, worked.guideline) for rule in rules if rule.criteria is not None]
    if outcomes:
        return any(outcome.is_relevant or outcome.state in _THERE for outcome in outcomes)
    return len(there) >= FEWEST_THERE


_THERE = (CriterionState.MET, CriterionState.ASSUMED)


def _judged(item: ScoreItem, score: Score, record: PatientRecord, guideline: Guideline) -> JudgedItem:
    """What the record says of an item; silence is no answer, so it is asked."""
    if (words := said_part(score.table.name or "", item.text, record)) is not None:
        return JudgedItem(item, CriterionState.ASSUMED, words)
    outcome = evaluate(item.criteria, record, guideline)
    leaves = [evaluate(leaf, record, guideline) for leaf in conditions(item.criteria)]
    facts = [judged.fact for leaf in leaves for judged in leaf.judged if judged.fact]
    told = "; ".join(dict.fromkeys(facts)) or None
    is_silent = outcome.state is CriterionState.NOT_MET and len(facts) < len(leaves)
    return JudgedItem(item, CriterionState.UNKNOWN if is_silent else outcome.state, told)


def read_scores(tables: Sequence[RuleTable]) -> Iterator[Score]:
    """The boxes of which the items have points."""
    for table in tables:
        items, bands, points = list[ScoreItem](), list[tuple[int, int, str]](), 0
        for line in table.text.splitlines():
            words = line.strip()
            if each := _EACH.search(words):
                points = int(each["points"])
            elif band := _BAND.fullmatch(words):
                low, high = int(band["low"]), band["high"]
                bands.append((low, int(high or low) if high is None or high.isdigit() else 10**6, band["meaning"]))
            elif inline := _INLINE.fullmatch(words):
                items.append(_item(inline["item"].strip(), int(inline["points"])))
            elif points and re.match(_BULLET, words):
                items.append(_item(re.sub(f"^{_BULLET}", "", words), points))
            elif words:
                points = 0
        if len(items) >= FEWEST_ITEMS:
            yield Score(table, tuple(items), tuple(bands))


def _item(text: str, points: int) -> ScoreItem:
    head = text.partition(";")[0].strip(" .,")
    return ScoreItem(text.strip(" ."), points, _age(head) or _limits(head) or _finding(head))


def _age(text: str) -> Criteria | None:
    match = _AGE.search(text)
    return parse_criteria(f"aged {match['years']} and over", (), _NO_WORDS) if match else None


def _limits(text: str) -> Criteria | None:
    """“Low blood pressure (diastolic 60 mmHg or less, or systolic less than 90 mmHg)”: any of these limits."""
    match = _MEASURED.fullmatch(text)
    if match is None:
        return None
    name = _CHANGE.sub("", match["name"])
    limits = []
    for part in re.split(r"(?:,|(?<!\s))\s+or\s+(?=(?:systolic|diastolic)\b)", match["limits"]):
        side = re.match(r"(?:systolic|diastolic)\s+", part)
        limit = parse_threshold(f"{side.group()}{name} {part[side.end() :]}" if side else f"{name} {part}")
        if limit is None:
            return None
        limits.append(limit)
    return any_of(*limits)


def _finding(text: str) -> Criteria:
    bare = re.sub(r"(?:(?<!\s)\s+)?\([^()]*\)", "", text).strip()
    return parse_criteria(bare, (), _NO_WORDS) if bare else NeedsReading(text)
