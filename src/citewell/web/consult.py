"""What the consult page shows: findings in their groups, statements with the source that opens beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from citewell.assistants.consult.summary import lasting
from citewell.assistants.consult.view import source_line
from citewell.types.consult import Category, Consult, Finding, Polarity
from citewell.types.consult_plan_edits import LineWarnings, PenLine, by_part, lines_now, removed_lines, warnings_by_line
from citewell.vocabulary.icd10cm import codes_named
from citewell.web.source_highlights import SourceTarget

GROUPS: tuple[tuple[str, frozenset[Category]], ...] = (
    ("Patient", frozenset({Category.DEMOGRAPHIC})),
    (
        "Presenting complaint",
        frozenset({Category.SYMPTOM, Category.ASSOCIATED, Category.LOCATION, Category.ONSET, Category.DURATION}),
    ),
    (
        "Details",
        frozenset({Category.SEVERITY, Category.CHARACTER, Category.AGGRAVATING, Category.RELIEVING}),
    ),
    ("Observations", frozenset({Category.VITAL})),
    ("Past medical history", frozenset({Category.MEDICAL_HISTORY})),
    ("Medicines", frozenset({Category.MEDICATION})),
    ("Allergies", frozenset({Category.ALLERGY})),
)
HOLDS: Mapping[Polarity, tuple[str, str]] = {
    Polarity.PRESENT: ("✓", "present"),
    Polarity.ABSENT: ("✗", "not present"),
    Polarity.UNCLEAR: ("?", "unclear"),
    Polarity.PAST: ("p", "past"),
    Polarity.FAMILY: ("f", "family history"),
    Polarity.OTHER: ("o", "someone else"),
    Polarity.HYPOTHETICAL: ("~", "only mentioned"),
    Polarity.INTENDED: ("→", "planned"),
}
NONE = {Category.ALLERGY: "no known allergies", Category.MEDICATION: "no medicines"}
"""How it reads that there is none."""
STEPS = ("interviewing", "differentials_ready", "draft", "signed")
STEP_WORDS = {
    "interviewing": "Interview",
    "differentials_ready": "Differentials",
    "assessing": "Assessing",
    "draft": "Draft",
    "signed": "Signed",
    "failed": "Failed",
}


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding as a line of the list."""

    id: str
    mark: str
    holds: str
    name: str
    more: str
    words: str | None
    polarity: str
    by: str
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A statement of the plan with the chip that opens its source."""

    label: str
    text: str
    source_text: str | None
    """What the source says, where the words are the clinician's own."""
    why: str
    """Why the clinician changed them."""
    document_id: str
    query: str
    source: str
    grade: str
    doses: tuple[str, ...]
    conflicts: tuple[tuple[str, str, bool], ...]
    """Its warnings not already given at an earlier line."""
    as_for: tuple[str, ...]
    """The earlier lines that give its other warnings."""
    reservations: tuple[str, ...]
    is_own: bool = False
    held_back: str = ""
    place: str = ""
    """The source as it is written below the line: in full where it is first named."""


def grouped(consult: Consult) -> list[tuple[str, list[FindingLine]]]:
    """The findings under their headings; headings without any are left out."""
    found = [
        (title, [_shown(finding) for finding in consult.findings if finding.category in kinds])
        for title, kinds in GROUPS
    ]
    return [(title, lines) for title, lines in found if lines]


def _shown(finding: Finding) -> FindingLine:
    mark, holds = HOLDS[finding.polarity]
    if finding.name == "any" and finding.polarity is Polarity.ABSENT:
        words = finding.words.text if finding.words else None
        return FindingLine(
            finding.id, *HOLDS[Polarity.PRESENT], NONE[finding.category], "", words, "present", finding.by.value
        )
    value = (finding.unit or "") if finding.value is None else f"{finding.value:g} {finding.unit or ''}".strip()
    lasted = "" if finding.duration_days is None else f"for {lasting(finding.duration_days)}"
    parts = (
        f"read as {finding.corrected}" if finding.corrected else "",
        value,
        finding.arithmetic or "",
        "" if lasted == finding.name else lasted,
        finding.onset or "",
        f"of {finding.about}" if finding.about else "",
    )
    more = ", ".join(part for part in parts if part)
    return FindingLine(
        finding.id,
        mark,
        holds,
        finding.name,
        more,
        finding.words.text if finding.words else None,
        finding.polarity.value,
        finding.by.value,
        tuple(code.shown for code in finding.all_codes),
    )


def condition_codes(consult: Consult) -> dict[str, str]:
    """The code of each differential that is called as ICD-10-CM calls it."""
    named = {one.condition: codes_named(one.condition) for one in consult.differentials}
    return {condition: codes[0].shown for condition, codes in named.items() if codes}


def plan_of(consult: Consult) -> list[dict[str, Any]]:
    """The diagnoses of the plan, each with its statements as they stand now."""
    plan: Mapping[str, Any] = consult.plan or {"diagnoses": []}
    warnings = warnings_by_line(consult)
    named: set[str] = set()
    return [
        {
            **diagnosis,
            "parts": [
                (title, [_placed(_told(consult, line, warnings[line.label]), line, named) for line in lines])
                for title, lines in by_part(lines_now(consult, number))
            ],
            "removed": [(line.label, line.entry["text"], why) for line, why in removed_lines(consult, number)],
        }
        for number, diagnosis in enumerate(plan["diagnoses"], 1)
    ]


def _placed(told: PlanLine, line: PenLine, named: set[str]) -> PlanLine:
    """A line with its source: in full the first time a document is named, then by section and page."""
    if line.is_own:
        return told
    place = line.entry["place"]
    is_known = place["document_id"] in named
    named.add(place["document_id"])
    here = (*place["section"][-1:], f"p. {place['page']}" if place["page"] else "")
    short = ", ".join(part for part in here if part)
    return replace(told, place=short if is_known and short else told.source)


def _told(consult: Consult, line: PenLine, warnings: LineWarnings) -> PlanLine:
    """A statement as it stands: of one that the clinician wrote, what speaks against their words, and no grade."""
    label, entry = line.label, line.entry
    edit = consult.edit_of(label)
    against = tuple((told["text"], told["source"], told["is_grave"]) for told in warnings.told)
    if line.is_own:
        now = edit or entry
        return PlanLine(
            label, now["text"], None, now["why"], "", "", "", "", (), against, warnings.as_for, (), is_own=True
        )
    place = entry["place"]
    graded = (
        f"{entry['strength']} recommendation" if entry["strength"] else "",
        f"{entry['certainty']} certainty" if entry["certainty"] else "",
    )
    return PlanLine(
        label=label,
        text=(edit or entry)["text"],
        source_text=None if edit is None else entry["text"],
        why="" if edit is None else edit["why"],
        document_id=place["document_id"],
        query=SourceTarget(None, place["start"], place["end"]).query,
        source=source_line(place),
        grade="" if edit else ", ".join(part for part in graded if part),
        doses=() if edit else tuple(dose["arithmetic"] for dose in entry["doses"]),
        conflicts=against,
        as_for=warnings.as_for,
        reservations=() if edit else tuple(entry["reservations"]),
        held_back=line.held_back,
    )
