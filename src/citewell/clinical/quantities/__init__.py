"""Amounts, results of tests, durations, ages, doses, frequencies and dates, as a text writes them.

Every reading gives exact offsets. A month has 30 days and a year 365, everywhere in Citewell.
"""

from citewell.clinical.quantities.amounts import BARE, CHANCE, Quantity, quantities
from citewell.clinical.quantities.dates import Day, dates, first_day, known_days, without_days
from citewell.clinical.quantities.doses import DoseMention, Frequency, Habit, doses, frequencies, habits
from citewell.clinical.quantities.durations_and_ages import OLDEST, Age, Duration, ages, durations, years_between
from citewell.clinical.quantities.period_marks import NUMBER_WORD, PeriodMark, labels
from citewell.clinical.quantities.person_words import person_before, person_words
from citewell.clinical.quantities.results import (
    Test,
    TestReading,
    in_usual_unit,
    known_tests,
    named_test,
    named_tests,
    results,
)
from citewell.clinical.quantities.units import LOOK_BACK, Unit, days_in, unit_named, unit_of_result

__all__ = [
    "BARE",
    "CHANCE",
    "LOOK_BACK",
    "NUMBER_WORD",
    "OLDEST",
    "Age",
    "Day",
    "DoseMention",
    "Duration",
    "Frequency",
    "Habit",
    "PeriodMark",
    "Quantity",
    "Test",
    "TestReading",
    "Unit",
    "ages",
    "dates",
    "days_in",
    "doses",
    "durations",
    "first_day",
    "frequencies",
    "habits",
    "in_usual_unit",
    "known_days",
    "known_tests",
    "labels",
    "named_test",
    "named_tests",
    "person_before",
    "person_words",
    "quantities",
    "results",
    "unit_named",
    "unit_of_result",
    "without_days",
    "years_between",
]
