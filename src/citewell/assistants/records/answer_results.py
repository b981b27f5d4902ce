"""What the facts tell about results, conditions, and whatever else is listed by its kind."""

from __future__ import annotations

from collections.abc import Callable

from citewell.assistants.records.fact_query import (
    MAX_SHOWN,
    RECORD,
    FactQuery,
    GatheredFacts,
    count,
    denied,
    not_mentioned,
    told,
)
from citewell.assistants.records.fact_sentences import course_sentence, one_pressure, pressure_of
from citewell.assistants.records.intents import Intent
from citewell.assistants.records.known_facts import LONG_AGO, T, is_abnormal, is_unjudged, test_keys, when
from citewell.assistants.records.result_limits import beyond_limits
from citewell.types.coded_names import name_of_test
from citewell.types.facts import Diagnosis, DiagnosisStatus, LabResult, Professional, ResultCategory

NO_RANGE = "The laboratory gave no range for this test, so the record does not say whether the value is in range."
MOST_COURSES = 4
"""Tests of which one answer shows the course; of more, only the newest of each."""


def trend(asked: FactQuery) -> GatheredFacts | None:
    """All results of a test, oldest first; of a few tests, the course of each."""
    results = asked.named_of(LabResult)
    if asked.wanted.until is not None and Intent.LATEST in asked.wanted:  # “in 2015 compared with now”
        named = [lab_result for lab_result in asked.known.of(LabResult) if lab_result in asked.named]
        results = [*results, *(lab_result for lab_result in asked.known.latest(named) if lab_result not in results)]
    if not results:
        return _older(asked) or (not_mentioned(asked) if asked.unknown else None)
    newest = asked.known.latest(results)
    courses = [_course(results, test, MAX_SHOWN) for test in newest]
    if len(newest) > MOST_COURSES:
        return told(f"{RECORD} has {count(results, 'result')} for {len(newest)} tests. The latest of each:", newest)
    every = sorted(dict.fromkeys(one for course in courses for one in course), key=lambda one: when(one) or LONG_AGO)
    said = [sentence] if (sentence := course_sentence(every)) and _is_pressure(newest) else []
    said = said or [sentence for course in courses if (sentence := course_sentence(course))]
    what = name_of_test(newest[0].test_name) if len(newest) == 1 else f"{len(newest)} tests"
    lead = f"{RECORD} has {count(results, 'result')} for {what}."
    lead = " ".join([lead, *said, "All of them, oldest first:" if len(results) > 1 else ""]).strip()
    if _is_pressure(newest):
        return GatheredFacts(lead, tuple(every[-MAX_SHOWN:]), max(0, len(every) - MAX_SHOWN))
    shown_ones = [one for course in courses for one in course]
    return GatheredFacts(lead, tuple(shown_ones), len(results) - len(shown_ones))


def _is_pressure(newest: list[LabResult]) -> bool:
    """Whether these tests are the two sides of one blood pressure."""
    return len(newest) > 1 and pressure_of(one_pressure(newest)) is not None


def _older(asked: FactQuery) -> GatheredFacts | None:
    """That a test is on record, and not of the time that is asked for."""
    newest = asked.known.latest(asked.outside(LabResult))
    if not newest:
        return None
    of = f" from {asked.wanted.words}" if asked.wanted.words else " from that time"
    what = name_of_test(newest[0].test_name) if len(newest) == 1 else "these tests"
    return denied(f"{RECORD} has no result for {what}{of}", beside="The latest recorded:", facts=newest)


def _extreme(results: list[LabResult], *, is_high: bool) -> GatheredFacts | None:
    """The highest or the lowest result of one test in one unit; None where there are several."""
    values = {one.id: value for one in results if (value := _height(one)) is not None}
    counted = [lab_result for lab_result in results if lab_result.id in values]
    if not counted or len({(lab_result.test_name.casefold(), lab_result.unit) for lab_result in counted}) > 1:
        return None
    found = max(counted, key=lambda one: values[one.id] if is_high else -values[one.id])
    which = "highest" if is_high else "lowest"
    of = f"{count(counted, 'result')} for {found.test_name}"
    return told(f"The {which} of {of} in your record:", [found], after=NO_RANGE if is_unjudged(found) else "")


def _height(result: LabResult) -> float | None:
    """The number by which results of one test are ordered: of a blood pressure the upper one."""
    pressure = pressure_of(result)
    return result.value if pressure is None else pressure[0]


def _course(results: list[LabResult], test: LabResult, room: int) -> list[LabResult]:
    """The results of one test, oldest first: where there are too many, the first and the newest."""
    keys = set(test_keys(test))
    course = sorted(
        (lab_result for lab_result in results if keys & set(test_keys(lab_result))),
        key=lambda lab_result: when(lab_result) or LONG_AGO,
    )
    return course if len(course) <= room else [course[0], *course[1 - room :]]


def results(asked: FactQuery) -> GatheredFacts | None:
    """The newest result of each test that is named, or of all; those out of range, where that is asked for."""
    lab_results = asked.named_of(LabResult)
    if lab_results:
        for wish in (Intent.HIGHEST, Intent.LOWEST):
            if wish in asked.wanted and (gathered_facts := _extreme(lab_results, is_high=wish is Intent.HIGHEST)):
                return gathered_facts
        newest = asked.known.latest(lab_results)
        if asked.wanted.since is not None and Intent.LATEST in asked.wanted:  # “now, and in 2012”
            newest = list(dict.fromkeys([*asked.known.latest(asked.outside(LabResult)), *newest]))
        what = name_of_test(newest[0].test_name) if len(newest) == 1 else "these tests"
        what = "blood pressure" if _is_pressure(newest) else what
        is_one = len(newest) == 1 and is_unjudged(newest[0])
        return told(
            f"The latest result for {what} in your record:", newest, after=NO_RANGE if is_one else unjudged(newest)
        )
    if older := _older(asked):
        return older
    if not asked.names_nothing:
        return not_mentioned(
            asked, among="" if asked.unknown else "your results", others=asked.known.latest(asked.known.of(LabResult))
        )
    tests = [
        lab_result
        for lab_result in asked.inside(asked.known.of(LabResult))
        if lab_result.category in (None, ResultCategory.LABORATORY, ResultCategory.VITAL_SIGNS)
    ]
    newest = asked.known.latest(tests)
    out = [lab_result for lab_result in newest if is_abnormal(lab_result)]
    if Intent.ABNORMAL in asked.wanted:
        return _out_of_range(asked, newest, out)
    about = f", {len(out)} of them marked as out of range" if out else ""
    of = f" from {asked.wanted.words}" if asked.wanted.words else ""
    return told(
        f"{RECORD} has {count(newest, 'test')}{of}{about}. The latest result of each:", newest, after=unjudged(newest)
    )


def _out_of_range(asked: FactQuery, newest: list[LabResult], out: list[LabResult]) -> GatheredFacts:
    """The newest results that are out of range, or beyond usual limits."""
    beyond = [
        beyond_limit
        for beyond_limit in beyond_limits(asked.known.facts)
        if beyond_limit in newest and beyond_limit not in out
    ]
    of = f" from {asked.wanted.words}" if asked.wanted.words else ""
    if not newest:
        return denied(f"{RECORD} has no result{of}")
    if not out and not beyond:
        return denied(f"{RECORD} marks none of {count(newest, 'test')}{of} as out of range", after=unjudged(newest))
    among = f"{RECORD} has {count(newest, 'test')}{of}. Of the latest results, "
    lead = (
        f"{among}{len(out)} marked as out of range, {len(beyond)} beyond the limits at which laboratories usually "
        "call a doctor:"
    )
    return told(lead, [*out, *beyond], after=unjudged([lab_result for lab_result in newest if lab_result not in out]))


def unjudged(newest: list[LabResult]) -> str:
    """That results without a range are not in range; empty where all have one.

    >>> unjudged([])
    ''
    """
    number = sum(map(is_unjudged, newest))
    if not number:
        return ""
    these = f"{number} of these tests have" if number > 1 else "One of these tests has"
    return f"{these} no laboratory range, so the record does not say whether the value is in range."


def diagnoses(asked: FactQuery) -> GatheredFacts | None:
    """Conditions that are named, else the active ones, or those that are over."""
    if diagnosises := asked.named_of(Diagnosis):
        return told(f"{RECORD} has {count(diagnosises)} of this:", diagnosises)
    if any(not isinstance(fact, LabResult | Professional) for fact in asked.named):
        return None  # a medicine, a procedure: told as what it is
    if asked.about or asked.unknown:
        return not_mentioned(asked, among="your conditions", others=asked.known.of(Diagnosis))
    wanted = DiagnosisStatus.RESOLVED if Intent.PAST in asked.wanted else DiagnosisStatus.ACTIVE
    active = [diagnosis for diagnosis in asked.inside(asked.known.of(Diagnosis)) if diagnosis.status is wanted]
    word = "that have resolved" if wanted is DiagnosisStatus.RESOLVED else "as active"
    if asked.named:
        others = asked.known.newest_of(fact for fact in asked.named if not isinstance(fact, Professional))
        return denied(f"{RECORD} does not list that as a condition", beside="It has this:", facts=others)
    lead = f"{RECORD} lists {count(active, 'condition')} {word}"
    others = [one for one in asked.known.of(Diagnosis) if one not in active] if asked.wanted.since is None else []
    if not active and others:
        return denied(lead, beside=f"It lists {count(others, 'other condition')}:", facts=others)
    more = count(others, "other condition")
    also = (
        ""
        if wanted is DiagnosisStatus.RESOLVED or not others
        else f"It also lists {more}, resolved or being monitored."
    )
    return told(f"{lead}:", active, after=also)


def listing(kind: type[T], one: str, many: str) -> Callable[[FactQuery], GatheredFacts | None]:
    """Those that are named, else all of the time that is asked for."""

    def tell(asked: FactQuery) -> GatheredFacts | None:
        found = asked.named_of(kind)
        if not found and asked.named and not any(isinstance(fact, Professional) for fact in asked.named):
            return None
        if not found and (asked.about or asked.unknown):
            return not_mentioned(asked, among=many, others=asked.known.of(kind))
        listed = found or asked.inside(asked.known.of(kind))
        if Intent.LATEST in asked.wanted and listed:
            return told(f"The latest {one} in your record:", listed[:1])
        return told(f"{RECORD} lists {count(listed, one, many)}:", listed)

    return tell
