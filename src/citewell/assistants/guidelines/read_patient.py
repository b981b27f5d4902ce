"""Reads a patient from JSON or a FHIR bundle; wrong values are refused, missing ones stay unknown."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citewell.assistants.guidelines.patient import (
    COMPLAINTS,
    OLDEST,
    SEXES,
    Complaint,
    Flag,
    PatientInput,
    Sex,
    TestResult,
    UnreadField,
    by_range,
)
from citewell.assistants.guidelines.patient_fhir import patient_from_bundle
from citewell.errors import InputError
from citewell.unknown_fields import unknown_fields

MAX_ITEMS = 500
MAX_CHARACTERS = 2_000
FIELDS = (
    "patient_id id name age gender sex smoking_history smoking exposures organs symptoms findings symptom_duration_days"
    " tests"
).split()
SYMPTOM_FIELDS = "text name duration_days".split()
TEST_FIELDS = "name value unit text result flag low high".split()
FLAGS: Mapping[str, Flag] = {
    **dict.fromkeys(("low", "l", "ll", "lu", "<", "reduced", "decreased", "below"), "low"),
    **dict.fromkeys(("normal", "n", "within range"), "normal"),
    **dict.fromkeys(("high", "h", "hh", "hu", ">", "raised", "elevated", "increased", "above"), "high"),
}
"""The words of a record, and the codes of HL7 for them."""
NO_SEX = (
    "unknown|not known|not stated|not specified|unspecified|undisclosed|not recorded|prefer not to say"
    "|prefers not to say|other|indeterminate|undetermined|intersex|diverse|non-binary|nonbinary|non binary|x|u"
    "|trans man|trans woman|transgender|transgender man|transgender woman|trans male|trans female|transgender male"
    "|transgender female"
).split("|")
"""What a record may say that does not tell which organs a patient has."""


def patient_from_object(given: Mapping[str, Any]) -> PatientInput:
    """One patient: the fields of a patient, or a FHIR bundle."""
    if given.get("resourceType") == "Bundle":
        return patient_from_bundle(given)
    return patient_from(given)


def patients_from_json(text: str) -> tuple[PatientInput, ...]:
    """One patient or a list of them; a FHIR bundle is one patient."""
    try:
        given = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError("The patient file is not JSON. Save it as one JSON object, or a list of them.") from error
    if isinstance(given, Mapping):
        return (patient_from_object(given),)
    patients = [patient_from(fields) for fields in (given if isinstance(given, list) else [given])]
    if not patients or len(patients) > MAX_ITEMS:
        raise InputError(f"A patient file must contain 1 to {MAX_ITEMS} patients.")
    if len({patient.id for patient in patients}) < len(patients):
        raise InputError("Two patients in the file have the same ID. Give each its own ID.")
    return tuple(patients)


def _no_constant(_name: str) -> float:
    raise ValueError


def patient_from(given: object) -> PatientInput:
    """A patient from its fields; unknown fields are refused.

    >>> patient_from({"patient_id": "P1", "age": 55, "gender": "Male", "symptoms": ["cough"]}).complaints
    (Complaint(text='cough', duration_days=None, field='symptoms'),)
    """
    if not isinstance(given, Mapping):
        raise InputError("Each patient must be a JSON object with fields such as age, gender and symptoms.")
    _refuse_unknown(given, FIELDS)
    days = _number(given, "symptom_duration_days", low=0, high=365 * OLDEST)
    return PatientInput(
        id=_text(given, "patient_id") or _text(given, "id") or "unnamed",
        name=_text(given, "name"),
        age=_age(given),
        sex=_sex(given),
        smoking=_text(given, "smoking_history") or _text(given, "smoking"),
        exposures=tuple(_texts(given, "exposures")),
        complaints=tuple(_complaint(entry, days, field) for field in COMPLAINTS for entry in _list(given, field)),
        tests=tuple(_test(entry) for entry in _list(given, "tests")),
        organs=tuple(word.lower() for word in _texts(given, "organs")),
        not_read=tuple(_not_read(given)),
    )


def _refuse_unknown(given: Mapping[str, Any], known: Sequence[str]) -> None:
    if wrong := unknown_fields(given, known):
        raise InputError(wrong)


def _not_read(given: Mapping[str, Any]) -> Iterator[UnreadField]:
    """The fields that another of the same meaning comes before, and a gender that says no sex."""
    for first, second in (("smoking_history", "smoking"), ("sex", "gender")):
        used, other = _text(given, first), _text(given, second)
        if used and other and used.lower() != other.lower():
            yield UnreadField(other, second, f"“{first}” takes precedence")
    for field in ("sex", "gender"):
        if (words := _text(given, field)) and _sex_of(words, field) is None:
            yield UnreadField(words, field, "does not say which organs the patient has; list them under “organs”")
    if isinstance(days := given.get("symptom_duration_days"), int | float) and not any(
        _list(given, field) for field in COMPLAINTS
    ):
        yield UnreadField(f"{days:g} days", "symptom_duration_days", "no symptom given has this duration")


def _age(given: Mapping[str, Any]) -> int | None:
    age = _number(given, "age", low=0, high=OLDEST)
    if age is not None and age != math.floor(age):
        raise InputError("Enter the age as a whole number of years.")
    return None if age is None else int(age)


def _sex(given: Mapping[str, Any]) -> Sex | None:
    sexes = [_sex_of(words, field) for field in ("sex", "gender") if (words := _text(given, field))]
    return sexes[0] if sexes else None


def _sex_of(words: str, field: str) -> Sex | None:
    """The sex that a word says; None where it leaves that open.

    >>> _sex_of("Woman", "gender"), _sex_of("prefers not to say", "gender")
    ('female', None)
    """
    plain = words.lower()
    if plain not in SEXES and plain not in NO_SEX:
        raise InputError(
            f"“{field}” of a patient must be female or male, or a word such as unknown, other or non-binary."
        )
    return SEXES.get(plain)


def _complaint(given: object, days: float | None, field: str) -> Complaint:
    if isinstance(given, str):
        return Complaint(_checked(given, field), days, field)
    if isinstance(given, Mapping):
        _refuse_unknown(given, SYMPTOM_FIELDS)
        own = _number(given, "duration_days", low=0, high=365 * OLDEST)
        if words := _either(given, "text", "name"):
            return Complaint(words, days if own is None else own, field)
    raise InputError("Each symptom must be text, or an object with a text and duration_days.")


def _either(given: Mapping[str, Any], first: str, second: str) -> str | None:
    """The words of one of two fields that mean the same."""
    words = [text for key in (first, second) if (text := _text(given, key))]
    if len(words) > 1:
        raise InputError(f"Give either “{first}” or “{second}”, not both.")
    return words[0] if words else None


def _test(given: object) -> TestResult:
    if not isinstance(given, Mapping):
        raise InputError("Each test must be an object with a name, and a value or a text.")
    _refuse_unknown(given, TEST_FIELDS)
    if not (name := _text(given, "name")):
        raise InputError("Each test must be an object with a name, and a value or a text.")
    value, low, high = (_number(given, key, low=-1e9, high=1e12) for key in ("value", "low", "high"))
    flag = _flag(given) or by_range(value, low, high)
    return TestResult(name, value, _text(given, "unit"), _either(given, "text", "result"), flag, low, high)


def _flag(given: Mapping[str, Any]) -> Flag | None:
    if not (words := _text(given, "flag")):
        return None
    if words.lower() not in FLAGS:
        raise InputError("The flag of a test must be low, normal or high, or a laboratory's letter for it: L, N or H.")
    return FLAGS[words.lower()]


def _text(given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        raise InputError(f"“{key}” of a patient must be text.")
    return _checked(value, key) or None


def _checked(value: str, key: str) -> str:
    words = " ".join("".join(char if char.isprintable() else " " for char in value).split())
    if len(words) > MAX_CHARACTERS:
        raise InputError(f"“{key}” of a patient is over {MAX_CHARACTERS} characters. Shorten it.")
    return words


def _number(given: Mapping[str, Any], key: str, *, low: float, high: float) -> float | None:
    value = given.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"“{key}” of a patient must be a number from {low:g} to {high:g}.")
    return float(value)


def _list(given: Mapping[str, Any], key: str) -> Sequence[object]:
    value = given.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MAX_ITEMS:
        raise InputError(f"“{key}” of a patient must be a list of at most {MAX_ITEMS} entries.")
    return value


def _texts(given: Mapping[str, Any], key: str) -> list[str]:
    values = _list(given, key)
    if not all(isinstance(value, str) for value in values):
        raise InputError(f"“{key}” of a patient must be a list of texts.")
    return [_checked(str(value), key) for value in values]
