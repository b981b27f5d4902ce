"""Amounts, results of tests, durations, ages, habits and dates, as a text writes them.

Every reading gives exact offsets. A month has 30 days and a year 365, everywhere in Citewell.
"""

from citewell.clinical.quantities.amounts import BARE, CHANCE, Quantity, quantities
from citewell.clinical.quantities.convert_units import in_usual_unit
from citewell.clinical.quantities.dates import Day, dates, first_day, known_days, without_days
from citewell.clinical.quantities.durations_and_ages import (
    OLDEST,
    Age,
    Duration,
    age_told,
    ages,
    ages_of_birth,
    durations,
    years_between,
)
from citewell.clinical.quantities.habits import Habit, habits
from citewell.clinical.quantities.known_tests import Test, TestReading, known_tests, named_test, named_tests
from citewell.clinical.quantities.period_marks import NUMBER_WORD, PeriodMark, labels
from citewell.clinical.quantities.person_words import person_before, person_words
from citewell.clinical.quantities.results import results
from citewell.clinical.quantities.units import LOOK_BACK, Unit, days_in, unit_named, unit_of_result

__all__ = [
    "BARE",
    "CHANCE",
    "LOOK_BACK",
    "NUMBER_WORD",
    "OLDEST",
    "Age",
    "Day",
    "Duration",
    "Habit",
    "PeriodMark",
    "Quantity",
    "Test",
    "TestReading",
    "Unit",
    "age_told",
    "ages",
    "ages_of_birth",
    "dates",
    "days_in",
    "durations",
    "first_day",
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
