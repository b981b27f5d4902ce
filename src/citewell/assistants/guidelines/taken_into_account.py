"""What of a patient was taken into account, and what no rule could use: each with its words, its place and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal

from citewell.assistants.guidelines.concept_match import Unit, is_clinical, names, placed, units
from citewell.assistants.guidelines.criteria import (
    Absence,
    AgeRange,
    Condition,
    CriterionState,
    Exposure,
    FindingCriterion,
    JudgedCriterion,
    Sex,
    Threshold,
    conditions,
)
from citewell.assistants.guidelines.evaluate import PASSIVE, evaluate, exposure_words, is_of_patient, is_part_of_score
from citewell.assistants.guidelines.evaluate_finding import PatientRecord
from citewell.assistants.guidelines.evaluate_tests import is_test
from citewell.assistants.guidelines.guideline import Guideline, GuidelineRule
from citewell.assistants.guidelines.patient import COMPLAINTS, Complaint, PatientInput, TestResult
from citewell.assistants.guidelines.record_clauses import (
    cue,
    descriptions,
    duration_days,
    held_by_all,
    qualities,
    status_of,
)
from citewell.clinical import broader, fold
from citewell.clinical.assertion import AssertionContext, read_context
from citewell.clinical.implied_findings import is_misread, is_normal, meant
from citewell.clinical.phrases import TIME, content_words, numbers, phrases
from citewell.clinical.populations import is_there, organ_named
from citewell.clinical.quantities import age_told, ages, named_test, results
from citewell.types.consult import Polarity

ReadAs = Literal["present", "absent", "unclear", "given"]
Kind = Literal["not understood", "not used", "left out"]

NOT_UNDERSTOOD = "not understood"
MAX_TOLD = 20
"""A sentence names no more than these; the list has all."""


@dataclass(frozen=True, slots=True)
class UsedWords:
    """Words that spoke for or against a rule, and how they were read."""

    words: str
    field: str
    index: int | None
    read_as: ReadAs
    note: str | None = None

    @property
    def told(self) -> str:
        """The words, with how they were read where that is not plain."""
        read_as = "" if self.read_as in ("present", "given") else f" ({self.read_as})"
        return f"{self.words}{read_as}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True, slots=True)
class Unused:
    """Words that spoke neither for nor against any rule, and why."""

    words: str
    field: str
    index: int | None
    kind: Kind
    why: str

    @property
    def told(self) -> str:
        """The words, and why nothing used them."""
        return f"“{self.words}”" if self.kind == "not understood" else f"“{self.words}” ({self.why})"


@dataclass(frozen=True, slots=True)
class Account:
    """All that was given of a patient: what counted, and what did not."""

    taken: tuple[UsedWords, ...] = ()
    unused: tuple[Unused, ...] = ()
    questions: tuple[tuple[JudgedCriterion, tuple[str, ...]], ...] = ()
    """Results that cannot be compared, and findings that the record both states and denies, with the rules."""

    @property
    def not_understood(self) -> tuple[Unused, ...]:
        return tuple(unused for unused in self.unused if unused.kind == "not understood")

    def told(self) -> Iterator[str]:
        """In sentences, to stand beside “no criteria met”."""
        yield f"Taken into account: {_listed([used_words.told for used_words in self.taken]) or 'nothing'}."
        if others := [unused.told for unused in self.unused if unused.kind != "not understood"]:
            yield f"Not used: {_listed(others)}."
        if self.not_understood:
            yield f"Not understood: {_listed([unused.told for unused in self.not_understood])}."

    def shown(self) -> dict[str, Any]:
        """As the views show it."""
        return {
            "taken_into_account": [asdict(used_words) for used_words in self.taken],
            "unused": [asdict(unused) for unused in self.unused],
        }


def _listed(words: Sequence[str]) -> str:
    more = f"; {len(words) - MAX_TOLD} more" if len(words) > MAX_TOLD else ""
    return "; ".join(dict.fromkeys(words[:MAX_TOLD])) + more


def account(record: PatientRecord, rules: Iterable[tuple[Guideline, GuidelineRule]]) -> Account:
    """Everything that the record holds, held against every condition of these rules."""
    reader = _AccountReader.of(record, rules)
    items = list(reader.items())
    taken = tuple(used_words for used_words in items if isinstance(used_words, UsedWords))
    return Account(taken, tuple(unused for unused in items if isinstance(unused, Unused)), tuple(reader.questions()))


Item = UsedWords | Unused


@dataclass(frozen=True, slots=True)
class _ConditionVerdict:
    """A condition of some rules, and what it came to."""

    guideline: Guideline
    condition: Condition
    judged: tuple[JudgedCriterion, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True)
class _AccountReader:
    """Goes through a record field by field, with what each condition of the rules came to."""

    record: PatientRecord
    verdicts: tuple[_ConditionVerdict, ...]
    guidelines: str
    wanted: frozenset[str]
    """Everything that a condition speaks of, decided or not."""
    used: frozenset[str]
    """Everything that spoke for or against a condition."""
    facts: frozenset[str]
    compared: frozenset[str]
    """The results that decided something."""

    @classmethod
    def of(cls, record: PatientRecord, rules: Iterable[tuple[Guideline, GuidelineRule]]) -> _AccountReader:
        labels: dict[tuple[str, Condition], tuple[Guideline, list[str]]] = {}
        for guideline, rule in rules:
            for condition in conditions(rule.criteria) if rule.criteria is not None else ():
                _, named = labels.setdefault((guideline.name, condition), (guideline, []))
                named.append(f"{guideline.name} {rule.id}")
        verdicts = tuple(
            _ConditionVerdict(
                guideline, condition, evaluate(condition, record, guideline).judged, tuple(dict.fromkeys(named))
            )
            for (_, condition), (guideline, named) in labels.items()
        )
        guidelines = dict.fromkeys(guideline.name for guideline, _ in labels.values())
        facts = frozenset(_facts(verdicts))
        return cls(
            record,
            verdicts,
            " or ".join(guidelines) or "the guideline",
            frozenset(chain.from_iterable(_spoken_of(verdict.condition) for verdict in verdicts)),
            frozenset(chain.from_iterable(_decided(condition_verdict) for condition_verdict in verdicts)),
            facts,
            frozenset(
                fact for fact in facts if any(measured_result.told in fact for measured_result in record.results)
            ),
        )

    @property
    def no_rule(self) -> str:
        return f"not matched to any recommendation in {self.guidelines}"

    def items(self) -> Iterator[Item]:
        patient = self.record.patient
        yield from self._age_and_sex()
        for index, words in enumerate(patient.organs):
            yield self._organ(words, index)
        if patient.smoking:
            yield self._exposure(patient.smoking, "smoking_history", None)
        for index, words in enumerate(patient.exposures):
            yield self._exposure(words, "exposures", index)
        places: dict[str, int] = {}
        for complaint in patient.complaints:
            index = places.get(complaint.field, 0)
            places[complaint.field] = index + 1
            yield from self._complaint(complaint, index)
        yield from self._durations()
        for index, test in enumerate(patient.tests):
            yield self._test(test, index)
        for field in patient.not_read:
            yield Unused(field.words, field.field, None, "left out", field.why)

    def questions(self) -> Iterator[tuple[JudgedCriterion, tuple[str, ...]]]:
        """What the record says of a condition and leaves open: a result that cannot be compared, or two words on it."""
        for condition_verdict in self.verdicts:
            if isinstance(condition_verdict.condition, FindingCriterion) and len(condition_verdict.judged) == 1:
                (judged,) = condition_verdict.judged
                if judged.state is CriterionState.UNKNOWN and judged.fact and not judged.is_clinical:
                    yield judged, condition_verdict.rules
        for test in self.record.patient.tests:
            about = self._about(test)
            if not any(_is_decided(other.judged) for other in about):
                for verdict in about:
                    yield next(criterion for criterion in verdict.judged if criterion.fact), verdict.rules

    def _about(self, test: TestResult) -> list[_ConditionVerdict]:
        """What the conditions come to by one result alone, of those that it speaks of."""
        alone = PatientRecord(PatientInput(self.record.patient.id, ages=self.record.ages, tests=(test,)))
        condition_verdicts = []
        for verdict in self.verdicts:
            if _is_of_test(verdict.condition):
                judged = evaluate(verdict.condition, alone, verdict.guideline).judged
                if any(each.fact for each in judged):
                    condition_verdicts.append(
                        _ConditionVerdict(verdict.guideline, verdict.condition, judged, verdict.rules)
                    )
        return condition_verdicts

    # ------------------------------------------------------------------------------------------- fields of their own

    def _age_and_sex(self) -> Iterator[Item]:
        patient = self.record.patient
        asked = {type(verdict.condition) for verdict in self.verdicts}
        if patient.known_ages is not None:
            yield self._given(f"aged {age_told(patient.known_ages)}", "age", is_used=AgeRange in asked)
        if patient.sex is not None:
            if Sex in asked and patient.sex not in self.facts:
                yield Unused(patient.sex, "sex", None, "not used", "recorded organs take precedence")
            else:
                yield self._given(patient.sex, "sex", is_used=patient.sex in self.facts)

    def _given(self, words: str, field: str, *, is_used: bool) -> Item:
        return (
            UsedWords(words, field, None, "given") if is_used else Unused(words, field, None, "not used", self.no_rule)
        )

    def _organ(self, words: str, index: int) -> Item:
        organ = organ_named(words)
        if organ is None:
            return Unused(words, "organs", index, "not understood", NOT_UNDERSTOOD)
        if any(isinstance(verdict.condition, Sex) and verdict.condition.organ == organ for verdict in self.verdicts):
            return UsedWords(words, "organs", index, "given" if is_there(words) else "absent")
        return Unused(words, "organs", index, "not used", f"no recommendation in {self.guidelines} uses this")

    def _exposure(self, words: str, field: str, index: int | None) -> Item:
        """A field about what a person did or met: read by the rules' exposures, and by nothing else."""
        asked = [
            condition_verdict
            for condition_verdict in self.verdicts
            if isinstance(condition_verdict.condition, Exposure)
        ]
        for verdict in asked:
            for judged in verdict.judged:
                if judged.fact == words and judged.state in (CriterionState.MET, CriterionState.NOT_MET):
                    return UsedWords(words, field, index, "present" if judged.state is CriterionState.MET else "absent")
        if (read_as := self._exposed(words)) is not None:
            return UsedWords(words, field, index, read_as)
        if field == "smoking_history" and not any(
            _is_smoking(condition_verdict.condition) for condition_verdict in asked
        ):
            return Unused(words, field, index, "not used", f"no recommendation in {self.guidelines} uses smoking")
        if PASSIVE.search(words):
            return Unused(words, field, index, "not used", "does not say whether it is present or absent")
        if _concepts(words):
            return Unused(words, field, index, "not used", f"no recommendation in {self.guidelines} uses this exposure")
        return Unused(words, field, index, "not understood", NOT_UNDERSTOOD)

    def _exposed(self, words: str) -> ReadAs | None:
        """How words speak of an exposure that a rule asks for; None where they do not."""
        for verdict in self.verdicts:
            if isinstance(verdict.condition, Exposure) and not PASSIVE.search(words):
                stating, denying, *_ = exposure_words()[verdict.condition.name]
                if denying.search(words):
                    return "absent"
                if stating.search(words) and (is_of_patient(stating, words) or "?" in words):
                    return "unclear" if "?" in words else "present"
        return None

    # ------------------------------------------------------------------------------------------------ symptoms, tests

    def _complaint(self, complaint: Complaint, index: int) -> Iterator[Item]:
        for item in self._text(complaint.text):
            yield self._placed(item, complaint.field, index)

    def _durations(self) -> Iterator[Item]:
        """How long symptoms are said to have lasted, where no rule asks or their own words say something else."""
        told = {complaint: duration_days(complaint.text) for complaint in self.record.patient.complaints}
        silent = [complaint for complaint in told if told[complaint] is None]
        for days in dict.fromkeys(
            complaint.duration_days for complaint in told if complaint.duration_days not in (None, told[complaint])
        ):
            if not silent:
                why = "the symptom itself states the duration"
                yield Unused(_in_days(days), "symptom_duration_days", None, "not used", why)
        given = dict.fromkeys(complaint.duration_days for complaint in silent if complaint.duration_days is not None)
        for days in given:
            if f"for {days:g} days" not in self.facts and all(complaint.field in COMPLAINTS for complaint in silent):
                why = f"no recommendation in {self.guidelines} for these symptoms uses duration"
                yield Unused(_in_days(days), "symptom_duration_days", None, "not used", why)

    @staticmethod
    def _placed(item: Item, field: str, index: int) -> Item:
        if isinstance(item, UsedWords):
            return UsedWords(item.words, field, index, item.read_as, item.note)
        return Unused(item.words, field, index, item.kind, item.why)

    def _test(self, test: TestResult, index: int) -> Item:
        about = self._about(test)
        if any(_is_decided(condition_verdict.judged) for condition_verdict in about):
            return UsedWords(test.told, "tests", index, "given")
        if not about:
            return self._unused_test(test, index)
        why = next(
            (criterion.ask for verdict in about for criterion in verdict.judged if criterion.ask),
            "no recommendation uses this result",
        )
        rules = ", ".join(dict.fromkeys(rule for verdict in about for rule in verdict.rules))
        return Unused(test.told, "tests", index, "not used", f"{why} ({rules})")

    def _unused_test(self, test: TestResult, index: int) -> Item:
        if test.value is None and not test.text and not test.flag:
            return Unused(test.told, "tests", index, "not used", "no result given")
        if not _concepts(test.name) and named_test(test.name) is None:
            return Unused(test.told, "tests", index, "not understood", NOT_UNDERSTOOD)
        if names(units(test.name)) & self.wanted and test.text and not self._text_is_used(test.text):
            return Unused(test.told, "tests", index, "not understood", "the result could not be interpreted")
        return Unused(test.told, "tests", index, "not used", self.no_rule)

    def _text_is_used(self, text: str) -> bool:
        return any(isinstance(one, UsedWords) for one in self._text(text))

    def _text(self, text: str) -> Iterator[Item]:
        """The phrases of a text, each as it was read."""
        context = read_context(text)
        named = _named(context)
        for start, end in phrases(text, [place for thing in named for place in thing.places]):
            inside = [named_thing for named_thing in named if start <= named_thing.places[0][0] < end]
            yield from self._phrase(text[start:end], inside, context)

    def _phrase(self, words: str, things: Sequence[_NamedThing], context: AssertionContext) -> Iterator[Item]:
        if (exposed := self._exposed(words)) is not None:
            yield UsedWords(words, "", None, exposed)
            return
        if not things and any(reading.text in fact for reading in results(words) for fact in self.compared):
            yield UsedWords(words, "", None, "given")
            return
        if not things and self._is_described(words):
            yield UsedWords(words, "", None, "present")
            return
        if not things:
            yield from self._strange(words)
            return
        held = {thing: _held(thing, context) for thing in things}
        used = {
            named_thing: READ_AS[held[named_thing]]
            for named_thing in things
            if held[named_thing] in READ_AS and self._is_used(named_thing.ids)
        }
        used |= {thing: "given" for thing in things if thing not in used and self._is_compared(thing)}
        known = (*self.compared, *(thing.words for thing in used))
        value = next((number for number in numbers(_without_age(words)) if not _is_among(number, known)), None)
        whole = [thing for thing in used if not _is_part(thing, used)]
        for one in whole:
            note = f"read as {one.meaning}" if one.meaning else None
            yield UsedWords(words if len(whole) == 1 else one.words, "", None, used[one], note)
        idle = [thing for thing in things if thing not in used and not _is_part(thing, used)]
        if used:
            yield from (self._idle(thing.words, thing.ids, held[thing]) for thing in idle)
        elif not value:
            yield self._idle(words, idle[0].ids, held[idle[0]])
        if value:
            is_result = any(named_test(thing.words) for thing in things)
            advice = ": enter the result under “tests”, with its unit" if is_result else ""
            yield Unused(words, "", None, "not used", f"no recommendation uses the value {value} as written{advice}")

    def _is_described(self, words: str) -> bool:
        """Whether words describe what decided a condition without naming it: a suspicion, or a part of a score."""
        if any(names(suspected) & self.used and words_for.search(words) for suspected, words_for, _ in descriptions()):
            return True
        return any(
            is_part_of_score(verdict.condition.test, words)
            for verdict in self.verdicts
            if isinstance(verdict.condition, Threshold)
            and any(judged.state is CriterionState.ASSUMED for judged in verdict.judged)
        )

    def _is_compared(self, thing: _NamedThing) -> bool:
        """Whether something is a test whose result was compared."""
        return named_test(thing.words) is not None and any(thing.words in fact for fact in self.compared)

    def _is_used(self, ids: Unit) -> bool:
        return bool((ids | broader(ids)) & self.used)

    def _idle(self, words: str, ids: Unit, held: Polarity) -> Unused:
        if held in LEFT_OUT:
            return Unused(words, "", None, "left out", LEFT_OUT[held])
        why = f"{self.guidelines} needs more detail than this" if ids & self.wanted else self.no_rule
        return Unused(words, "", None, "not used", why)

    def _strange(self, words: str) -> Iterator[Item]:
        """Words that name nothing known: told, unless they only say how, how long or nothing at all."""
        bare = _without_age(words)
        content = {fold(word) for word in content_words(_without_qualities(bare))}
        if content & self.used:
            yield UsedWords(words, "", None, "present")
        elif bare != words and not content and not numbers(bare):
            yield UsedWords(words, "", None, "given")
        elif content and cue("family").search(words):
            yield Unused(words, "", None, "left out", LEFT_OUT[Polarity.FAMILY])
        elif content or numbers(bare):
            yield Unused(words, "", None, "not understood", NOT_UNDERSTOOD)


def _in_days(days: float) -> str:
    return f"{days:g} day{'' if days == 1 else 's'}"


def _facts(verdicts: Iterable[_ConditionVerdict]) -> Iterator[str]:
    for verdict in verdicts:
        yield from (judged.fact for judged in verdict.judged if judged.fact)


def _is_of_test(condition: Condition) -> bool:
    """Whether a result decides it."""
    return isinstance(condition, Threshold) or (isinstance(condition, FindingCriterion) and is_test(condition.phrase))


def _is_smoking(condition: Condition) -> bool:
    return isinstance(condition, Exposure) and condition.name == "smoking"


def _is_decided(judged: Iterable[JudgedCriterion]) -> bool:
    return any(criterion.fact and criterion.state is not CriterionState.UNKNOWN for criterion in judged)


# ------------------------------------------------------------------------------------------------- what conditions use


def _spoken_of(condition: Condition) -> frozenset[str]:
    """The names of all that a condition speaks of, and of what is broader."""
    match condition:
        case FindingCriterion(phrase=phrase, detail=detail):
            return _wide(phrase) | (_wide(detail) if detail else frozenset())
        case Absence(phrase=phrase):
            return _wide(phrase)
        case Threshold(test=test):
            return _wide(test)
        case _:
            return frozenset()


def _decided(verdict: _ConditionVerdict) -> frozenset[str]:
    """The names that spoke for or against a condition, or left it open."""
    return _spoken_of(verdict.condition) if any(criterion.fact for criterion in verdict.judged) else frozenset()


@cache
def _wide(phrase: str) -> frozenset[str]:
    return names(unit | broader(unit) for unit in units(phrase))


# ---------------------------------------------------------------------------------------------------- phrases of a text


@dataclass(frozen=True, slots=True)
class _NamedThing:
    """A clinical thing that a text names, and where."""

    words: str
    places: tuple[tuple[int, int], ...]
    ids: Unit
    meaning: str | None = None
    """The name that the trained reader takes the words for, where no table has them."""


def _is_part(thing: _NamedThing, others: Iterable[_NamedThing]) -> bool:
    return any(thing is not other and thing.words != other.words and thing.words in other.words for other in others)


def _named(context: AssertionContext) -> list[_NamedThing]:
    """The concepts that a text names, and where."""
    text = context.text
    named = [
        _NamedThing(text[places[0][0] : max(end for _, end in places)], places, unit)
        for places, unit in placed(text)
        if is_clinical(unit) and not is_misread(context, places, unit)
    ]
    return [
        *named,
        *(
            _NamedThing(text[mention.start : mention.end], mention.places, mention.ids, mention.name)
            for mention in meant(context)
        ),
    ]


def _is_among(number: str, results: Iterable[str]) -> bool:
    """Whether a number stands in one of the results that were compared."""
    bare = re.sub(r"[^\d.,/]", "", number)
    pattern = re.compile(rf"(?<![\d.]){re.escape(bare)}(?![\d.]*\d)")
    return any(pattern.search(result) for result in results)


def _without_age(words: str) -> str:
    """The words without the patient's age and sex, which are read for themselves."""
    for age in reversed([age for age in ages(words) if age.of == "patient" and not age.problem]):
        words = f"{words[: age.start]} {words[age.end :]}"
    return words


def _without_qualities(words: str) -> str:
    """The words without times and without those that only say how a symptom is, or that it is not there."""
    bare = TIME.sub(" ", words)
    for pattern in (*(one for _, *both in qualities().values() for one in both if one), *map(cue, _SAYING)):
        bare = pattern.sub(" ", bare)
    return bare


_SAYING = ("normal", "denial", "doubt", "past")


def _concepts(words: str) -> Unit:
    """The concepts that words name."""
    return frozenset(name for name in names(units(words)) if ":" in name)


READ_AS: Mapping[Polarity, ReadAs] = {
    Polarity.PRESENT: "present",
    Polarity.ABSENT: "absent",
    Polarity.UNCLEAR: "unclear",
}
LEFT_OUT = {
    Polarity.PAST: "about the past",
    Polarity.FAMILY: "about a relative",
    Polarity.OTHER: "about someone else",
    Polarity.HYPOTHETICAL: "a concern, not a reported finding",
    Polarity.INTENDED: "an intention",
}


def _held(thing: _NamedThing, context: AssertionContext) -> Polarity:
    """How a thing holds: as the least sure of its words."""
    if thing.meaning is not None and is_normal(context, thing.places[0][0], thing.places[-1][1]):
        return Polarity.ABSENT
    return held_by_all([status_of(context, *place) for place in thing.places])
