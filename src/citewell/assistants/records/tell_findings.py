"""What the facts tell about results, conditions, and whatever else is listed by its kind."""

from __future__ import annotations

from collections.abc import Callable

from citewell.assistants.records.asked import MAX_SHOWN, RECORD, Asked, Gathered, count, denied, not_mentioned, told
from citewell.assistants.records.known import LONG_AGO, T, is_abnormal, is_unjudged, when
from citewell.assistants.records.wishes import Wish
from citewell.types.facts import Diagnosis, DiagnosisStatus, LabResult, Professional, ResultCategory
from citewell.types.facts_line import shown


def trend(asked: Asked) -> Gathered | None:
    """All results of a test, oldest first."""
    results = asked.named_of(LabResult)
    if not results:
        return not_mentioned(asked) if asked.unknown else None
    if len(asked.known.latest(results)) > 1:
        newest = asked.known.latest(results)
        return told(f"{RECORD} holds {count(results, 'result')} of {len(newest)} tests. The newest of each:", newest)
    course = sorted(results, key=lambda one: when(one) or LONG_AGO)
    first, last = course[0], course[-1]
    span = f" from {shown(first.collected)} to {shown(last.collected)}" if len(course) > 1 else ""
    shown_ones = course if len(course) <= MAX_SHOWN else [first, *course[1 - MAX_SHOWN :]]
    lead = f"{RECORD} holds {count(course, 'result')} of {last.test_name}{span}:"
    return Gathered(lead, tuple(shown_ones), len(course) - len(shown_ones))


def results(asked: Asked) -> Gathered | None:
    """The newest result of each test that is named, or of all."""
    found = asked.named_of(LabResult)
    if found:
        newest = asked.known.latest(found)
        what = newest[0].test_name if len(newest) == 1 else "these tests"
        return told(f"The newest result of {what} in your record:", newest)
    if not asked.names_nothing:
        return not_mentioned(asked, among="" if asked.unknown else "your results")
    tests = [
        one
        for one in asked.inside(asked.known.of(LabResult))
        if one.category in (None, ResultCategory.LABORATORY, ResultCategory.VITAL_SIGNS)
    ]
    newest = asked.known.latest(tests)
    out = sum(is_abnormal(one) for one in newest)
    about = f", {out} of them marked as out of range" if out else ""
    return told(
        f"{RECORD} holds {count(newest, 'test')}{about}. The newest result of each:", newest, after=unjudged(newest)
    )


def unjudged(newest: list[LabResult]) -> str:
    """That results without a range are not in range; empty where all have one.

    >>> unjudged([])
    ''
    """
    number = sum(map(is_unjudged, newest))
    if not number:
        return ""
    these = f"{number} of these tests have" if number > 1 else "One of these tests has"
    return f"{these} no range from a laboratory. That does not mean that the value is in range."


def diagnoses(asked: Asked) -> Gathered | None:
    """Conditions that are named, else the active ones, or those that are over."""
    if found := asked.named_of(Diagnosis):
        return told(f"{RECORD} says of this:", found)
    if asked.about or asked.unknown:
        return not_mentioned(asked, among="your conditions")
    wanted = DiagnosisStatus.RESOLVED if Wish.PAST in asked.wanted else DiagnosisStatus.ACTIVE
    active = [one for one in asked.inside(asked.known.of(Diagnosis)) if one.status is wanted]
    word = "that are over" if wanted is DiagnosisStatus.RESOLVED else "as active"
    if asked.named:
        others = asked.known.newest_of(one for one in asked.named if not isinstance(one, Professional))
        return denied(f"{RECORD} does not list that as a condition", beside="It has this:", facts=others)
    return told(f"{RECORD} lists {count(active, 'condition')} {word}:", active)


def listing(kind: type[T], one: str, many: str) -> Callable[[Asked], Gathered | None]:
    """Those that are named, else all of the time that is asked for."""

    def tell(asked: Asked) -> Gathered | None:
        found = asked.named_of(kind)
        if not found and asked.named and not any(isinstance(fact, Professional) for fact in asked.named):
            return None
        if not found and (asked.about or asked.unknown):
            return not_mentioned(asked, among=many)
        listed = found or asked.inside(asked.known.of(kind))
        if Wish.LATEST in asked.wanted and listed:
            return told(f"The newest {one} in your record:", listed[:1])
        return told(f"{RECORD} lists {count(listed, one, many)}:", listed)

    return tell
