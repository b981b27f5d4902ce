"""Apple Health's export.xml: millions of measurements, read as a stream; one value a day is kept, then one a month."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from lxml import etree

from citewell.errors import DamagedFile, TooLarge

KEPT_DAYS = 90
"""The newest days of a measurement that keep their last value; of older ones each month keeps its last."""
MAX_STREAM_BYTES = 8 * 1024**3
"""An export of many years has some gigabytes."""
PREFIX = "HKQuantityTypeIdentifier"
SEXES = {"HKBiologicalSexFemale": "female", "HKBiologicalSexMale": "male", "HKBiologicalSexOther": "other"}
SYSTOLIC, DIASTOLIC = "BloodPressureSystolic", "BloodPressureDiastolic"
MEASURES = {
    "BodyMass": ("Body weight", "29463-7"),
    "Height": ("Body height", "8302-2"),
    "BodyMassIndex": ("Body mass index", "39156-5"),
    "BodyTemperature": ("Body temperature", "8310-5"),
    "HeartRate": ("Heart rate", "8867-4"),
    "RestingHeartRate": ("Resting heart rate", "40443-4"),
    "RespiratoryRate": ("Respiratory rate", "9279-1"),
    "OxygenSaturation": ("Oxygen saturation", "59408-5"),
    "BloodGlucose": ("Glucose", "2339-0"),
    "WaistCircumference": ("Waist circumference", "56086-2"),
    "BodyFatPercentage": ("Body fat", "41982-0"),
    "PeakExpiratoryFlowRate": ("Peak expiratory flow", "33452-4"),
    SYSTOLIC: ("Systolic blood pressure", "8480-6"),
    DIASTOLIC: ("Diastolic blood pressure", "8462-4"),
}
"""What becomes results; steps, energy, sleep and workouts are counted alone."""
UNITS = {"count/min": "/min", "degC": "°C", "degF": "°F"}


@dataclass(slots=True)
class _Day:
    """The last value of one measurement on one day, and how many there were."""

    at: str
    value: float
    unit: str
    count: int = 1


@dataclass(slots=True)
class _Read:
    """What is kept while the file goes by: days, never samples."""

    born: str | None = None
    sex: str | None = None
    days: dict[tuple[str, str], _Day] = field(default_factory=dict)
    others: Counter[str] = field(default_factory=Counter)
    kept: int = 0


class _Bounded:
    """A stream that ends with an error where no honest export is as long."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self._left = stream, MAX_STREAM_BYTES

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise TooLarge("The Apple Health export is too large to be read. Export it again for fewer years.")
        return data


def summarised(stream: IO[bytes]) -> tuple[bytes, tuple[str, ...]]:
    """The measurements of an export as a FHIR bundle, and notes that say what was left out."""
    read = _Read()
    try:
        for element in _elements(stream):
            _take(element, read)
    except etree.XMLSyntaxError as error:
        raise DamagedFile("The Apple Health export is incomplete or damaged. Export it again.") from error
    observations = list(_observations(read))
    patient: dict[str, Any] = {"resourceType": "Patient", "id": "apple-health"}
    patient |= {name: told for name, told in (("birthDate", read.born), ("gender", read.sex)) if told}
    bundle = {
        "resourceType": "Bundle",
        "type": "collection",
        "entry": [{"resource": resource} for resource in (patient, *observations)],
    }
    return json.dumps(bundle, ensure_ascii=False, indent=1).encode(), tuple(_notes(read, len(observations)))


def _elements(stream: IO[bytes]) -> Iterator[etree._Element]:
    """Each element of interest, forgotten when the next one comes."""
    context = etree.iterparse(
        _Bounded(stream), events=("end",), tag=("Record", "Me"), resolve_entities=False, no_network=True, load_dtd=False
    )
    for _event, element in context:
        yield element
        parent = element.getparent()
        if parent is not None and parent.tag != "Correlation":
            element.clear()
            while element.getprevious() is not None:
                del parent[0]


def _take(element: etree._Element, read: _Read) -> None:
    if element.tag == "Me":
        read.born = (element.get("HKCharacteristicTypeIdentifierDateOfBirth") or "")[:10] or None
        read.sex = SEXES.get(element.get("HKCharacteristicTypeIdentifierBiologicalSex") or "")
        return
    parent = element.getparent()
    if parent is not None and parent.tag == "Correlation":
        return  # the same measurement stands outside of it too
    name, at = (element.get("type") or "").removeprefix(PREFIX), _moment(element.get("startDate") or "")
    try:
        value = float(element.get("value") or "")
    except ValueError:
        value = math.nan
    if name not in MEASURES or at is None or not math.isfinite(value):
        read.others[name] += 1
        return
    unit = element.get("unit") or ""
    if unit == "%" and value <= 1:  # Apple writes 97 % as 0.97
        value = round(value * 100, 1)
    read.kept += 1
    day = read.days.get(key := (name, at[:10]))
    if day is None:
        read.days[key] = _Day(at, value, UNITS.get(unit, unit))
        return
    day.count += 1
    if at >= day.at:
        day.at, day.value, day.unit = at, value, UNITS.get(unit, unit)


def _moment(written: str) -> str | None:
    """A time as FHIR has it; one without its zone is none.

    >>> _moment("2023-05-01 08:30:00 +0200")
    '2023-05-01T08:30:00+02:00'
    """
    if len(written) < len("2023-05-01 08:30:00 +0200"):
        return None
    try:
        return datetime.fromisoformat(written.replace(" +", "+").replace(" -", "-")).isoformat()
    except ValueError:
        return None


def _observations(read: _Read) -> Iterator[dict[str, Any]]:
    """One result for each day or month that is kept; both values of a blood pressure are one."""
    by_name: dict[str, dict[str, _Day]] = {}
    for (name, date), day in read.days.items():
        by_name.setdefault(name, {})[date] = day
    lower = by_name.pop(DIASTOLIC, {})
    for name, days in sorted(by_name.items()):
        for date in _kept(sorted(days)):
            day, second = days[date], lower.get(date)
            if name == SYSTOLIC and second is not None and second.at == day.at:
                parts = [{"code": _code(part), **_value(held)} for part, held in ((name, day), (DIASTOLIC, second))]
                yield _observation(f"blood-pressure-{date}", _concept("Blood pressure", "85354-9"), day) | {
                    "component": parts
                }
            else:
                yield _observation(f"{name}-{date}", _code(name), day) | _value(day)


def _kept(dates: list[str]) -> list[str]:
    newest = dates[-KEPT_DAYS:]
    months = {date[:7]: date for date in dates[:-KEPT_DAYS]}  # the last of each month
    return [*months.values(), *newest]


def _observation(name: str, code: dict[str, Any], day: _Day) -> dict[str, Any]:
    return {
        "resourceType": "Observation",
        "id": f"apple-health-{name}",
        "status": "final",
        "category": [{"coding": [{"code": "vital-signs"}]}],
        "code": code,
        "effectiveDateTime": day.at,
    }


def _code(name: str) -> dict[str, Any]:
    return _concept(*MEASURES[name])


def _concept(words: str, code: str) -> dict[str, Any]:
    return {"coding": [{"system": "http://loinc.org", "code": code}], "text": words}


def _value(day: _Day) -> dict[str, Any]:
    return {"valueQuantity": {"value": day.value, "unit": day.unit}}


def _notes(read: _Read, results: int) -> Iterator[str]:
    if read.kept:
        yield (
            f"{read.kept:,} measurements of Apple Health became {results:,} results: the last value of each of the "
            f"newest {KEPT_DAYS} days with one, and of each month before. The others are not kept here."
        )
    if read.others:
        yield (
            f"{sum(read.others.values()):,} records of steps, energy, sleep and other activity were not imported. "
            "They stay in Apple Health."
        )
