"""Values, durations, ages and habits in short texts, held against what a clinician reads in them.

    python bench/quality/quantities.py [--set bench/clinical/sets/dev/quantities.tsv] [--misses]

A set has two columns: a text, and a JSON list of what it tells (conventions: the README beside the set). A text is
right where exactly that is read: test, value, limit, unit, days and years. What a duration is of (`what`) is not
compared, for that is the work of the lexicon; it must be the duration of a complaint.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from citewell.clinical.quantities import (
    Age,
    Duration,
    Habit,
    TestReading,
    ages,
    durations,
    habits,
    named_test,
    results,
    unit_of_result,
)

Entry = tuple[tuple[str, Any], ...]
AMOUNTS = ("age", "smoking", "alcohol", "weight loss", "weight gain")


def read(text: str) -> list[Entry]:
    """What the code reads in a text, as the set writes it."""
    found: list[tuple[int, dict[str, Any]]] = [(one.start, _result(one)) for one in results(text) if one.written]
    found += [(one.start, _age(one)) for one in ages(text) if one.of == "patient" and one.problem is None]
    found += [(one.start, _duration(one)) for one in durations(text) if one.kind in ("lasting", "onset", "gestation")]
    found += [(one.start, _amounts(one.what, one)) for one in habits(text)]
    return sorted(_entry(one) for _, one in found if one)


def expected(told: list[dict[str, Any]]) -> list[Entry]:
    """What the set expects, with each test by its name in the table."""
    made = []
    for one in told:
        if "days" not in one and "test" not in one and one["what"] not in AMOUNTS:
            continue  # doses are not read
        entry = {key: value for key, value in one.items() if key not in ("what", "test")}
        if "test" in one:
            entry["test"] = getattr(named_test(one["test"]), "name", one["test"])
        elif "days" in one:
            entry["what"] = "gestation" if one["what"] == "gestation" else "complaint"
        else:
            entry["what"] = one["what"]
        made.append(_entry(entry))
    return sorted(made)


def _entry(fields: dict[str, Any]) -> Entry:
    if fields.get("unit"):
        unit = unit_of_result(fields["unit"])
        fields = fields | {"unit": (unit.dimension, unit.size) if unit else fields["unit"]}
    return tuple(sorted((key, str(value)) for key, value in fields.items() if value is not None))


def _number(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _result(one: TestReading) -> dict[str, Any]:
    entry: dict[str, Any] = {"test": one.test, "unit": one.written_unit}
    if one.test == "blood pressure" and len(one.written) > 1:
        return entry | {"value": "/".join(f"{value:g}" for value in one.written)}
    if len(one.written) > 1:
        return entry | {"low": _number(one.written[0]), "high": _number(one.written[1])}
    if one.sign != "=":
        return entry | {"limit": f"{one.sign}{one.written[0]:g}"}
    return entry | {"value": _number(one.written[0])}


def _age(one: Age) -> dict[str, Any]:
    return {"what": "age", "value": _number(one.value), "unit": one.unit, "years": _number(round(one.years, 2))}


def _duration(one: Duration) -> dict[str, Any]:
    if one.days is None or one.value is None or one.low is None:
        return {}
    what = "gestation" if one.kind == "gestation" else "complaint"
    days = {"what": what, "unit": one.unit, "days": _number(one.days)}
    if one.low != one.value:
        return days | {"low": _number(one.low), "high": _number(one.value)}
    return days | {"value": _number(one.value)}


def _amounts(what: str, one: Habit) -> dict[str, Any]:
    entry: dict[str, Any] = {"what": what, "unit": one.unit}
    if one.low != one.value:
        return entry | {"low": _number(one.low), "high": _number(one.value)}
    return entry | {"value": _number(one.value)}


def main() -> None:
    """Measure one set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=Path, default=Path("bench/clinical/sets/dev/quantities.tsv"))
    parser.add_argument("--misses", action="store_true", help="Show each text that is not exactly right.")
    chosen = parser.parse_args()
    rows = [line.split("\t") for line in chosen.set.read_text("utf-8").splitlines()[1:]]
    right = read_right = read_all = wanted_all = 0
    for text, told in rows:
        wanted, given = expected(json.loads(told)), read(text)
        right += wanted == given
        common = sum(min(wanted.count(one), given.count(one)) for one in set(wanted))
        read_right, read_all, wanted_all = read_right + common, read_all + len(given), wanted_all + len(wanted)
        if chosen.misses and wanted != given:
            print(f"{text}\n   wanted {wanted}\n   read   {given}")
    print(f"texts                    {len(rows)}")
    print(f"texts_exactly_right      {right}")
    print(f"precision                {read_right / max(read_all, 1):.3f}")
    print(f"recall                   {read_right / max(wanted_all, 1):.3f}")


if __name__ == "__main__":
    main()
