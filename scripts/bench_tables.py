"""Draws the results of benches for the docs: tables, and the reliability of the check's probability as a picture."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SIDE, EDGE = 300, 40
"""Of the plot, and of the room for its labels, in pixels."""


def table(result: Mapping[str, Any]) -> str:
    """One Markdown table: figures as rows, and a column for each size, view or set that was measured.

    >>> print(table({"lexical": {"ndcg@10": 0.7}, "dense": {"ndcg@10": 0.65}}))
    |  | lexical | dense |
    |---|---|---|
    | ndcg@10 | 0.7 | 0.65 |
    """
    columns = _columns(result)
    names = dict.fromkeys(name for column in columns.values() for name in column)
    heads = [name if name != "result" else "" for name in columns]
    lines = [f"|  | {' | '.join(heads)} |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        lines.append(f"| {name} | {' | '.join(_shown(column.get(name)) for column in columns.values())} |")
    return "\n".join(lines)


def sizing(search: Mapping[str, Any], ingest: Mapping[str, Any]) -> str:
    """What a library of each measured size needs: memory and start as measured, disk and reading by the passage."""
    lines = [
        "| passages | memory for the index | loaded in | one search | disk | read by one such machine in |",
        "|---|---|---|---|---|---|",
    ]
    passages_per_s = ingest["ingest_texts_per_s"] * ingest["passages"] / ingest["texts"]
    for row in search["rows"]:
        count = row["chunks"]
        disk_mib = count * ingest["disk_kib_per_passage"] / 1024
        lines.append(
            f"| {count:,} | {row['memory_mib']:,.0f} MiB | {row['cold_start_ms'] / 1000:.1f} s "
            f"| {row['search_p50_ms']:.1f} ms | {disk_mib:,.0f} MiB | {_lasting(count / passages_per_s)} |"
        )
    return "\n".join(lines)


def alterations(result: Mapping[str, Any]) -> str:
    """How many altered sentences, originals and paraphrases the check flags, beside what was asked for."""
    kinds = {f"of these: {kind}": (None, found) for kind, found in result["altered_flagged_by_kind"].items()}
    rows: dict[str, tuple[str | None, str]] = {
        f"{result['sentences']} true sentences altered by script, flagged": (
            "≥ 98 %",
            _percent(result["altered_flagged"]),
        ),
        **kinds,
        "the same sentences unaltered, flagged": ("≤ 2 %", _percent(result["unaltered_flagged"])),
        "100 faithful paraphrases, flagged": ("≤ 10 %", _percent(result["paraphrases_flagged"])),
        f"{result['altered_paraphrases']} alterations of those paraphrases, flagged": (
            None,
            _percent(result["altered_paraphrases_flagged"]),
        ),
    }
    lines = ["|  | asked | measured |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {asked or '–'} | {found} |" for name, (asked, found) in rows.items())])


def gain(result: Mapping[str, Any]) -> str:
    """By how much the F1 lies over the baseline's, and where 95 of 100 draws of the claims put that."""
    lines = ["| F1 over the baseline's | claims | gain | 95 % interval |", "|---|---|---|---|"]
    for of_set in ("validation", "train"):
        for verdict, one in result["gain"][of_set].items():
            interval = f"{one['low']:+.3f} to {one['high']:+.3f}"
            lines.append(f"| {verdict}, {of_set} | {result[of_set]['claims']} | {one['f1']:+.3f} | {interval} |")
    return "\n".join(lines)


def calibration(result: Mapping[str, Any]) -> str:
    """What was said with each probability, and how much of it was true."""
    curve = result["reliability"]
    lines = ["| probability | claims | mean said | truly supported |", "|---|---|---|---|"]
    for one in curve["bins"]:
        span = f"{one['from']:.1f}–{one['from'] + 0.1:.1f}"
        lines.append(f"| {span} | {one['claims']} | {one['said']:.2f} | {one['true']:.2f} |")
    error, brier = curve["expected_calibration_error"], curve["brier"]
    return "\n".join([*lines, "", f"Expected calibration error {error:.3f}, Brier score {brier:.3f}."])


def _percent(share: float) -> str:
    """As a share of a hundred.

    >>> _percent(0.99333), _percent(0.0)
    ('99.3 %', '0 %')
    """
    return f"{100 * share:.3g} %"


def _lasting(seconds: float) -> str:
    """In words, in the unit that a person would choose."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.0f} s"


def _columns(result: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    if "rows" in result:
        rows: Sequence[Mapping[str, Any]] = result["rows"]
        (head, *_) = rows[0]
        return {_shown(row[head]): {key: value for key, value in row.items() if key != head} for row in rows}
    nested = {name: value for name, value in result.items() if isinstance(value, Mapping) and not _is_deep(value)}
    if nested:
        return nested
    return {"result": {name: value for name, value in result.items() if not isinstance(value, Mapping | list)}}


def _is_deep(value: Mapping[str, Any]) -> bool:
    return any(isinstance(one, Mapping | list) for one in value.values())


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def reliability(path: Path) -> str:
    """The reliability curve as SVG: said probability to the right, share that was true upwards, area by claims."""
    curve = json.loads(path.read_text())["reliability"]
    size = SIDE + 2 * EDGE
    most = max(one["claims"] for one in curve["bins"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {size}" width="{size}" height="{size}" '
        'font-family="sans-serif" font-size="11" role="img" aria-label="Reliability of the calibrated probability">',
        f'<rect width="{size}" height="{size}" fill="#fff"/>',
        f'<path d="M{EDGE} {EDGE}V{EDGE + SIDE}H{EDGE + SIDE}" fill="none" stroke="#555"/>',
        f'<path d="M{EDGE} {EDGE + SIDE}L{EDGE + SIDE} {EDGE}" stroke="#aaa" stroke-dasharray="4 4"/>',
    ]
    for tick in range(0, 11, 2):
        at = SIDE * tick / 10
        parts.append(f'<text x="{EDGE + at:g}" y="{EDGE + SIDE + 16}" text-anchor="middle">{tick / 10:g}</text>')
        parts.append(f'<text x="{EDGE - 6}" y="{EDGE + SIDE - at + 4:g}" text-anchor="end">{tick / 10:g}</text>')
    for one in curve["bins"]:
        x, y = EDGE + SIDE * one["said"], EDGE + SIDE * (1 - one["true"])
        radius = 3 + 9 * (one["claims"] / most) ** 0.5
        title = f"said {one['said']:.2f}, true {one['true']:.2f}, {one['claims']} claims"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="#0b6e8a" fill-opacity="0.7">'
            f"<title>{title}</title></circle>"
        )
    error = curve["expected_calibration_error"]
    parts.append(f'<text x="{EDGE + SIDE / 2:g}" y="{size - 8}" text-anchor="middle">said</text>')
    parts.append(f'<text x="{EDGE}" y="{EDGE - 14}">true, of the claims said so (error {error:.3f})</text></svg>')
    return "\n".join(parts) + "\n"
