"""The course of a test: its values in words, and as a plot with dates, the reference band and a sign for each flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from markupsafe import Markup, escape

from citewell.assistants.records.known_facts import is_abnormal, test_keys, when
from citewell.types.facts import Flag, LabResult, ResultCategory
from citewell.types.facts_line import FLAGS, shown
from citewell.types.facts_line import value_of as told
from citewell.types.unit_names import number_name as number
from citewell.types.unit_names import unit_name
from citewell.web.display_words import raised
from citewell.web.records import FactLine

WIDTH, HEIGHT = 560, 190
LEFT, RIGHT, TOP, BOTTOM = 64, 72, 16, 34
MARK = 6
LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)
SIGNS = {
    Flag.LOW: f"M -{MARK} -{MARK} H {MARK} L 0 {MARK} Z",
    Flag.HIGH: f"M -{MARK} {MARK} H {MARK} L 0 -{MARK} Z",
}
"""A triangle that points down for low and up for high: the colour is never the only sign."""
COLOURS = {
    None: "wait",
    Flag.NORMAL: "good",
    Flag.LOW: "busy",
    Flag.HIGH: "busy",
    Flag.CRITICAL_LOW: "bad",
    Flag.CRITICAL_HIGH: "bad",
}


@dataclass(frozen=True, slots=True)
class PlottedValue:
    """One result of a test, in words."""

    day: str
    text: str
    flag: str
    colour: str
    row: FactLine


@dataclass(frozen=True, slots=True)
class ResultSeries:
    """All results of one test in one unit, newest first; the plot is there from two dated numbers on."""

    name: str
    short: str
    """The name without how and in what it was measured."""
    values: tuple[PlottedValue, ...]
    band: str
    is_out: bool
    """Whether the newest is marked as out of its range."""
    plot: Markup | None
    is_test: bool
    """Whether it was measured; what somebody was asked, or wrote down, is none."""


TESTS = frozenset({None, ResultCategory.LABORATORY, ResultCategory.VITAL_SIGNS, ResultCategory.IMAGING})


def short_name(name: str) -> str:
    """What a test is called without how and in what it was measured.

    >>> short_name("Albumin [Mass/volume] in Serum or Plasma"), short_name("Body Weight")
    ('Albumin', 'Body Weight')
    """
    return name.partition(" [")[0]


def courses(results: Iterable[LabResult]) -> list[ResultSeries]:
    """A course for each test, those whose newest result is out of range first, then by name; what is no test last."""
    by_test: dict[tuple[str, str], list[LabResult]] = {}
    for lab_result in results:
        for single in _singles(lab_result):
            by_test.setdefault((test_keys(single)[-1], single.unit or ""), []).append(single)
    result_serieses = [_course(sorted(some, key=lambda one: when(one) or LONG_AGO)) for some in by_test.values()]
    return sorted(
        result_serieses,
        key=lambda result_series: (not result_series.is_test, not result_series.is_out, result_series.name.casefold()),
    )


def _singles(result: LabResult) -> list[LabResult]:
    """A result, or each value of a panel as a result of its own; a part has no range or flag that is known."""
    return [
        replace(
            result,
            test_name=f"{result.test_name}: {part.test_name}",
            code=None,
            value=part.value,
            value_text=part.value_text,
            unit=part.unit,
            range_low=None,
            range_high=None,
            flag=None,
            parts=(),
        )
        for part in result.parts
    ] or [result]


def _course(results: Sequence[LabResult]) -> ResultSeries:
    newest = results[-1]
    return ResultSeries(
        name=newest.test_name,
        short=short_name(newest.test_name),
        values=tuple(_value(lab_result) for lab_result in reversed(results)),
        band=band_words(newest),
        is_out=is_abnormal(newest),
        plot=plot(results),
        is_test=newest.category in TESTS or newest.value is not None,
    )


def _value(result: LabResult) -> PlottedValue:
    flag = FLAGS[result.flag] if result.flag else ""
    return PlottedValue(shown(result.collected), told(result), flag, COLOURS[result.flag], FactLine.of(result))


def band_words(result: LabResult) -> str:
    """The range that is usual, in words."""
    low, high, unit = result.range_low, result.range_high, f" {unit_name(result.unit)}".rstrip()
    if low is not None and high is not None:
        return f"usual range {number(low)} to {number(high)}{unit}"
    if low is not None:
        return f"usual range {number(low)}{unit} or more"
    return "" if high is None else f"usual range up to {number(high)}{unit}"


# --------------------------------------------------------------------------------------------------------- the drawing


@dataclass(frozen=True, slots=True)
class Axes:
    """Where a day and a value stand on the drawing."""

    first: float
    last: float
    low: float
    high: float

    def x(self, day: float) -> float:
        share = (day - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def plot(results: Sequence[LabResult]) -> Markup | None:
    """The results, oldest first, as a drawing that also reads as a sentence."""
    points = [
        (at.timestamp(), lab_result.value, lab_result)
        for lab_result in results
        if lab_result.value is not None and (at := when(lab_result))
    ]
    if len(points) < 2:
        return None
    newest = points[-1][2]
    bounds = [one for one in (newest.range_low, newest.range_high) if one is not None]
    values = [value for _, value, _ in points] + bounds
    margin = (max(values) - min(values)) * 0.08 or abs(values[0]) * 0.1 or 1.0
    edges = bounds or sorted({min(values), max(values)})
    axes = Axes(points[0][0], points[-1][0], min(values) - margin, max(values) + margin)
    line = " ".join(f"{axes.x(day)},{axes.y(value)}" for day, value, _ in points)
    parts = [
        *_band(newest, axes),
        Markup('<polyline class="course" points="{}"/>').format(line),
        *(_label(LEFT - 10, axes.y(edge) + 5, number(edge), "end") for edge in edges),
        *(_mark(lab_result, axes.x(day), axes.y(value)) for day, value, lab_result in points),
        _label(axes.x(points[0][0]), HEIGHT - 8, shown(points[0][2].collected), "start"),
        _label(WIDTH - 4, HEIGHT - 8, shown(newest.collected), "end"),
        _label(axes.x(points[-1][0]) + 10, axes.y(points[-1][1]) + 5, number(points[-1][1]), "start"),
    ]
    head = Markup('<svg class="trend" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, plot_words([lab_result for _, _, lab_result in points])
    )
    return head + Markup("").join(parts) + Markup("</svg>")


def plot_words(results: Sequence[LabResult]) -> str:
    """The drawing as a sentence, for those who do not see it."""
    newest = results[-1]
    values = "; ".join(
        f"{shown(lab_result.collected)}: {told(lab_result)}{f', {FLAGS[lab_result.flag]}' if lab_result.flag else ''}"
        for lab_result in results
    )
    band = f" {raised(band_words(newest))}." if band_words(newest) else ""
    return f"{newest.test_name}, {len(results)} results. {values}.{band}"


def _band(newest: LabResult, axes: Axes) -> list[Markup]:
    low, high = newest.range_low, newest.range_high
    if low is None and high is None:
        return []
    top, bottom = axes.y(axes.high if high is None else high), axes.y(axes.low if low is None else low)
    size = WIDTH - LEFT - RIGHT, round(bottom - top, 1)
    return [Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"/>').format(LEFT, top, *size)]


def _mark(result: LabResult, x: float, y: float) -> Markup:
    title = f"{shown(result.collected)}: {told(result)}{f', {FLAGS[result.flag]}' if result.flag else ''}"
    colour = COLOURS[result.flag]
    side = {Flag.CRITICAL_LOW: Flag.LOW, Flag.CRITICAL_HIGH: Flag.HIGH}.get(result.flag or Flag.NORMAL, result.flag)
    if side in SIGNS:
        return Markup('<path class="point {}" transform="translate({} {})" d="{}"><title>{}</title></path>').format(
            colour, x, y, SIGNS[side], title
        )
    return Markup('<circle class="point {}" cx="{}" cy="{}" r="5"><title>{}</title></circle>').format(
        colour, x, y, title
    )


def _label(x: float, y: float, text: str, anchor: str) -> Markup:
    return Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
        round(x, 1), round(y, 1), anchor, escape(text)
    )
