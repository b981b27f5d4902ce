"""The plan as the clinician has it: lines added, taken out or put elsewhere; what was drafted stays beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from citewell.errors import InputError
from citewell.types.consult import Consult

OWN = "own"
"""How the id of a line begins that the clinician added."""
NOT_FOR_PATIENT, CHECK_FIRST = "Not for this patient", "Check interactions first"
NO_DIAGNOSIS = "The plan has no diagnosis with this number. `citewell consult show` gives each diagnosis its number."
NOT_BESIDE = (
    "A line can only be moved within its diagnosis. Name another line of the same diagnosis, or none for the end."
)


@dataclass(frozen=True, slots=True)
class PenLine:
    """A line of the plan as it stands: its number, and what the guideline or the clinician says."""

    label: str
    entry: Mapping[str, Any]
    is_own: bool = False
    is_held_back: bool = False

    @property
    def held_back(self) -> str:
        """Why it is not among the lines for this patient: because of who they are, or a medicine to check first."""
        if not self.is_held_back:
            return ""
        kinds = {told["kind"] for told in self.entry["conflicts"] if told["is_grave"]}
        return CHECK_FIRST if kinds == {"interaction"} else NOT_FOR_PATIENT

    @property
    def role(self) -> str:
        """The part of the plan that it belongs to; a line of one's own stands where it was put."""
        return OWN if self.is_own else str(self.entry.get("role", "treat"))


def lines_now(consult: Consult, number: int) -> list[PenLine]:
    """The lines of a diagnosis in the clinician's order, without those that were taken out."""
    gone = dict(consult.removed)
    lines = list(_all_lines(consult, number))
    for label, before in consult.moves:
        moved = next((line for line in lines if line.label == label), None)
        if moved is not None and before != label:
            lines.remove(moved)
            at = next((place for place, line in enumerate(lines) if line.label == before), len(lines))
            lines.insert(at, moved)
    return [line for line in lines if line.label not in gone]


@dataclass(frozen=True, slots=True)
class LineWarnings:
    """The warnings of a line as it stands: those that no line before it tells, and the lines that tell the others."""

    told: tuple[Mapping[str, Any], ...]
    as_for: tuple[str, ...]


def warnings_by_line(consult: Consult) -> dict[str, LineWarnings]:
    """The warnings of every line of the plan by its number, each in full at the first line for this patient only."""
    first: dict[tuple[str, str], str] = {}
    found: dict[str, LineWarnings] = {}
    for number in range(1, count(consult) + 1):
        for line in lines_now(consult, number):
            every = (consult.edit_of(line.label) or line.entry)["conflicts"]
            if line.held_back == NOT_FOR_PATIENT:
                found[line.label] = LineWarnings(tuple(every), ())
                continue
            told = tuple(one for one in every if (one["text"], one["source"]) not in first)
            earlier = dict.fromkeys(first[key] for one in every if (key := (one["text"], one["source"])) in first)
            first |= {(one["text"], one["source"]): line.label for one in told}
            found[line.label] = LineWarnings(told, tuple(earlier))
    return found


def removed_lines(consult: Consult, number: int) -> list[tuple[PenLine, str]]:
    """The lines of a diagnosis that the clinician took out, each with why."""
    gone = dict(consult.removed)
    return [(line, gone[line.label]) for line in _all_lines(consult, number) if line.label in gone]


def _all_lines(consult: Consult, number: int) -> Iterator[PenLine]:
    plan: Mapping[str, Any] = consult.plan or {"diagnoses": []}
    diagnosis = plan["diagnoses"][number - 1]
    for one in diagnosis["offered"]:
        yield PenLine(f"{number}.{one['id']}", one)
    for one in consult.own:
        if one["diagnosis"] == number:
            yield PenLine(f"{number}.{one['id']}", one, is_own=True)
    for one in diagnosis["held_back"]:
        yield PenLine(f"{number}.{one['id']}", one, is_held_back=True)


def line_at(consult: Consult, label: str) -> PenLine | None:
    """A line by its number, such as 1.2, whether it was taken out or not."""
    first = label.strip().partition(".")[0]
    if not (first.isdecimal() and 1 <= int(first) <= count(consult)):
        return None
    return next((line for line in _all_lines(consult, int(first)) if line.label == label.strip()), None)


def count(consult: Consult) -> int:
    """How many diagnoses the plan has."""
    plan: Mapping[str, Any] = consult.plan or {"diagnoses": []}
    return len(plan["diagnoses"])


def is_empty(consult: Consult) -> bool:
    """Whether the plan tells nothing to do: every line was left out, taken out or held back."""
    numbers = range(1, count(consult) + 1)
    return not any(
        not line.is_held_back or consult.edit_of(line.label)
        for number in numbers
        for line in lines_now(consult, number)
    )


def next_own_id(consult: Consult) -> str:
    """The id of the next line that the clinician adds."""
    return f"{OWN}{len(consult.own) + 1}"


def checked_place(consult: Consult, label: str, before: str) -> None:
    """Refuse to put a line beside one of another diagnosis, or beside none that there is."""
    if before and (line_at(consult, before) is None or before.partition(".")[0] != label.partition(".")[0]):
        raise InputError(NOT_BESIDE)


def by_part(lines: Sequence[PenLine]) -> list[tuple[str, list[PenLine]]]:
    """Lines under the parts of a plan, one after another as they stand."""
    parts: list[tuple[str, list[PenLine]]] = []
    for line in lines:
        title = line.held_back or PARTS.get(line.role, "Treatment")
        if parts and (parts[-1][0] == title or line.is_own):
            parts[-1][1].append(line)
        else:
            parts.append((title, [line]))
    return parts


PARTS = {
    "now": "Now",
    "investigate": "Investigations",
    "treat": "Treatment",
    "support": "Other measures",
    "avoid": "Avoid",
    "caution": "Caution",
    "safety": "Safety net",
    "refer": "Referral",
    "follow": "Follow-up",
    "prevent": "Prevention",
    OWN: "Clinician's own",
}
"""The parts of a plan as they are headed."""
