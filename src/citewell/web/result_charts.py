"""The course of a test drawn: a chart with dates, values and the reference band, and a small line for a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil, floor, log10

from markupsafe import Markup, escape

from citewell.assistants.records.fact_sentences import pressure_of
from citewell.assistants.records.known_facts import when
from citewell.types.facts import Flag, LabResult
from citewell.types.facts_line import shown
from citewell.types.unit_names import number_name
from citewell.web.display_words import raised
from citewell.web.result_series import COLOURS, Reading, ResultSeries

WIDTH, HEIGHT = 360, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 16, 30
MARK = 5
MOST_POINTS = 150
"""Points of one line; of more, those that are marked stay, and of the others some."""
SPARK_WIDTH, SPARK_HEIGHT, SPARK_POINTS = 72, 24, 16
DAY_S = 86_400.0
UPPER, LOWER = "upper (systolic)", "lower (diastolic)"
SHAPES = {
    Flag.LOW: f"M -{MARK} -{MARK} H {MARK} L 0 {MARK} Z",
    Flag.HIGH: f"M -{MARK} {MARK} H {MARK} L 0 -{MARK} Z",
    None: f"M -{MARK - 1} -{MARK - 1} H {MARK - 1} V {MARK - 1} H -{MARK - 1} Z",
}
"""A triangle that points down for low and up for high, a square for the lower line of a blood pressure."""
SIDES = {
    Flag.LOW: Flag.LOW,
    Flag.CRITICAL_LOW: Flag.LOW,
    Flag.HIGH: Flag.HIGH,
    Flag.CRITICAL_HIGH: Flag.HIGH,
}


@dataclass(frozen=True, slots=True)
class Point:
    """One value at its time."""

    at: float
    value: float
    result: LabResult


@dataclass(frozen=True, slots=True)
class Axes:
    """Where a time and a value stand on the drawing."""

    first: float
    last: float
    low: float
    high: float

    def x(self, at: float) -> float:
        share = (at - self.first) / (self.last - self.first) if self.last > self.first else 0.5
        return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


def lines_of(series: ResultSeries) -> dict[str, list[Point]]:
    """The lines of a chart, oldest first: two for a blood pressure, else one without a name."""
    lines: dict[str, list[Point]] = {}
    for result in reversed(series.results):
        at = when(result)
        if at is None:
            continue
        if pressure := pressure_of(result):
            for name, value in zip((UPPER, LOWER), pressure[:2], strict=True):
                lines.setdefault(name, []).append(Point(at.timestamp(), value, result))
        elif result.value is not None:
            lines.setdefault("", []).append(Point(at.timestamp(), result.value, result))
    return lines


def sparkline(series: ResultSeries) -> Markup | None:
    """The newest values as a small line beside the words that say the same; there from two values on."""
    lines = [points[-SPARK_POINTS:] for points in lines_of(series).values()]
    if not lines or len(lines[0]) < 2:
        return None
    every = [point for points in lines for point in points]
    low, high = min(point.value for point in every), max(point.value for point in every)
    size = (high - low) or 1.0
    drawn = [
        " ".join(
            f"{3 + at * (SPARK_WIDTH - 6) / (len(points) - 1):.0f},"
            f"{SPARK_HEIGHT - 4 - (point.value - low) / size * (SPARK_HEIGHT - 8):.0f}"
            for at, point in enumerate(points)
        )
        for points in lines
    ]
    parts = [Markup('<polyline points="{}"/>').format(points) for points in drawn]
    ends = [points.rpartition(" ")[2].split(",") for points in drawn]
    parts += [Markup('<circle cx="{}" cy="{}" r="2.5"/>').format(*end) for end in ends]
    head = Markup('<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true">').format(SPARK_WIDTH, SPARK_HEIGHT)
    return head + Markup("").join(parts) + Markup("</svg>")


def chart(series: ResultSeries) -> Markup | None:
    """All values with dates on the axis and the reference band, as a drawing that also reads as a sentence."""
    lines = lines_of(series)
    every = [point for points in lines.values() for point in points]
    if not every or all(len(points) < 2 for points in lines.values()):
        return None
    newest = every[-1].result
    bounds = [bound for bound in (newest.range_low, newest.range_high) if bound is not None]
    ticks = value_ticks([point.value for point in every] + bounds)
    times = [point.at for point in every]
    axes = Axes(min(times), max(times), ticks[0], ticks[-1])
    parts = [
        *_band(newest, axes),
        *(_grid_line(axes, tick) for tick in ticks),
        *_dates(axes),
        *(part for name, points in lines.items() for part in _line(name, points, axes)),
    ]
    head = Markup('<svg class="trend" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        WIDTH, HEIGHT, chart_words(series)
    )
    return head + Markup("").join(parts) + Markup("</svg>")


def chart_words(series: ResultSeries) -> str:
    """The drawing as a sentence, for those who do not see it; every value is in the table below it."""
    reading = series.reading
    word = f", {reading.word}" if reading.word else ""
    band = f" {raised(reading.band)}." if reading.band else ""
    return f"{series.name}: latest {reading.value} on {reading.day}{word}.{band} {series.trend}".strip()


def value_ticks(values: Sequence[float]) -> list[float]:
    """Round values that hold all others, three to six of them.

    >>> value_ticks([2.5, 9.1, 2.0, 3.0]), value_ticks([131.0, 76.0]), value_ticks([5.0, 5.0])
    ([2.0, 4.0, 6.0, 8.0, 10.0], [60.0, 80.0, 100.0, 120.0, 140.0], [4.0, 4.5, 5.0, 5.5, 6.0])
    """
    low, high = min(values), max(values)
    if low == high:
        margin = abs(low) * 0.2 or 1.0
        low, high = low - margin, high + margin
    raw = (high - low) / 4
    power = 10.0 ** floor(log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw * 0.999)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [round(at * step, 10) for at in range(first, last + 1)]


def _line(name: str, points: Sequence[Point], axes: Axes) -> list[Markup]:
    kept = _thinned(points)
    is_lower = name == LOWER
    course = " ".join(f"{axes.x(point.at)},{axes.y(point.value)}" for point in kept)
    parts = [Markup('<polyline class="course{}" points="{}"/>').format(" lower" if is_lower else "", course)]
    parts += [_mark(point, axes, is_lower=is_lower) for point in kept]
    if name:
        at, newest = axes.y(kept[-1].value) - 10, kept[-1]
        words = f"{name.partition(' ')[0]} {newest.value:.0f}"
        parts.append(_label(WIDTH - RIGHT, max(at, TOP - 4), words, "end", "named"))
    return parts


def _thinned(points: Sequence[Point]) -> list[Point]:
    """At most so many points as can be told apart: the first, the last, and all that are marked stay."""
    if len(points) <= MOST_POINTS:
        return list(points)
    every = ceil(len(points) / MOST_POINTS)
    return [
        point
        for at, point in enumerate(points)
        if at % every == 0 or at == len(points) - 1 or SIDES.get(point.result.flag or Flag.NORMAL)
    ]


def _band(newest: LabResult, axes: Axes) -> list[Markup]:
    low, high = newest.range_low, newest.range_high
    if low is None and high is None:
        return []
    top, bottom = axes.y(axes.high if high is None else high), axes.y(axes.low if low is None else low)
    size = WIDTH - LEFT - RIGHT, round(bottom - top, 1)
    return [Markup('<rect class="band" x="{}" y="{}" width="{}" height="{}"/>').format(LEFT, top, *size)]


def _grid_line(axes: Axes, value: float) -> Markup:
    y = axes.y(value)
    line = Markup('<path class="grid" d="M {} {} H {}"/>').format(LEFT, y, WIDTH - RIGHT)
    return line + _label(LEFT - 6, y + 4, number_name(value), "end")


def _dates(axes: Axes) -> list[Markup]:
    """The first and the last day, and between them years or months where there is room."""
    marks = date_ticks(axes.first, axes.last)
    anchors = ["start", *["middle"] * (len(marks) - 2), "end"] if len(marks) > 1 else ["middle"]
    return [_label(axes.x(at), HEIGHT - 8, words, anchor) for (at, words), anchor in zip(marks, anchors, strict=True)]


def date_ticks(first: float, last: float) -> list[tuple[float, str]]:
    """Where the axis of dates is labelled, and how.

    >>> day = datetime(2024, 2, 1, tzinfo=UTC).timestamp()
    >>> [words for _, words in date_ticks(day, day + 90 * DAY_S)], [words for _, words in date_ticks(day, day)]
    (['1 Feb 2024', '1 May 2024'], ['1 Feb 2024'])
    >>> [words for _, words in date_ticks(day, day + 2000 * DAY_S)]
    ['Feb 2024', '2026', '2028', 'Jul 2029']
    """
    begun, ended = (datetime.fromtimestamp(at, UTC) for at in (first, last))
    if (last - first) / DAY_S < 1:
        return [(first, _short_day(begun))]
    if (last - first) / DAY_S < 2 * 366:
        return [(first, _short_day(begun)), (last, _short_day(ended))]
    room = (last - first) * 0.22
    step = max(1, round((ended.year - begun.year) / 3))
    years = [datetime(year, 1, 1, tzinfo=UTC).timestamp() for year in range(begun.year + 1, ended.year + 1)]
    kept: list[float] = []
    for at in years:
        year = datetime.fromtimestamp(at, UTC).year
        if year % step == 0 and at - first > room and last - at > room and (not kept or at - kept[-1] > room * 0.6):
            kept.append(at)
    middle = [(at, str(datetime.fromtimestamp(at, UTC).year)) for at in kept]
    return [(first, f"{begun:%b %Y}"), *middle, (last, f"{ended:%b %Y}")]


def _short_day(day: datetime) -> str:
    return f"{day.day} {day:%b %Y}"


def _mark(point: Point, axes: Axes, *, is_lower: bool) -> Markup:
    reading = Reading(point.result)
    word = f", {reading.word}" if reading.word else ""
    title = f"{shown(point.result.collected)}: {reading.value}{word}"
    side = SIDES.get(reading.flag or Flag.NORMAL)
    x, y, colour = axes.x(point.at), axes.y(point.value), COLOURS[reading.flag]
    if side or is_lower:
        shape = SHAPES[side]
        return Markup('<path class="point {}" transform="translate({} {})" d="{}"><title>{}</title></path>').format(
            colour, x, y, shape, title
        )
    return Markup('<circle class="point {}" cx="{}" cy="{}" r="4"><title>{}</title></circle>').format(
        colour, x, y, title
    )


def _label(x: float, y: float, text: str, anchor: str, kind: str = "") -> Markup:
    named = Markup(' class="{}"').format(kind) if kind else ""
    return Markup('<text x="{}" y="{}" text-anchor="{}"{}>{}</text>').format(
        round(x, 1), round(y, 1), anchor, named, escape(text)
    )
