"""What speaks against a medicine that is about to be ordered for the person of a record."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from citewell.assistants.consult.conflicts import PatientMedicines, conflicts
from citewell.assistants.consult.from_record import ages_in, findings_of
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.printed_warnings import printed_warnings
from citewell.clinical.medicines import medicines
from citewell.types import Document, LibraryEntry
from citewell.types.consult import Category, Consult, ConsultState, Polarity
from citewell.types.consult_plan import Conflict
from citewell.types.facts import Fact


@dataclass(frozen=True, slots=True)
class OrderWarning:
    """Something that speaks against an ordered medicine; the document whose words are quoted, where there is one."""

    conflict: Conflict
    entry: LibraryEntry | None


@dataclass(frozen=True, slots=True)
class OrderCheck:
    """What speaks against the orders, and the names among them that no medicine is known by."""

    warnings: tuple[OrderWarning, ...]
    unknown: tuple[str, ...]
    has_age: bool = True
    """Whether the record gives an age to check by."""


def order_warnings(
    ordered: Sequence[str],
    facts: Sequence[Fact],
    shelf: Iterable[LibraryEntry],
    opened: Callable[[str], Document],
) -> OrderCheck:
    """Hold ordered medicines against allergies, illnesses, pregnancy, age and medicines taken, each for itself.

    Where only a month or a year of birth is known, what holds at any possible age is told.
    """
    shelf, ages = list(shelf), ages_in(facts, datetime.now(UTC))
    checks = [_warnings(ordered, facts, shelf, opened, age) for age in (ages or (None,))]
    warnings = {warning.conflict: warning for check in checks for warning in check.warnings}
    return OrderCheck(tuple(warnings.values()), checks[0].unknown, has_age=bool(ages))


def _warnings(
    ordered: Sequence[str],
    facts: Sequence[Fact],
    shelf: Sequence[LibraryEntry],
    opened: Callable[[str], Document],
    age: int | None,
) -> OrderCheck:
    findings = [replace(finding, id=f"f{at}") for at, finding in enumerate(findings_of(facts, age=age))]
    now = datetime.now(UTC).isoformat()
    consult = Consult("order", now, now, ConsultState.INTERVIEWING, findings=tuple(findings))
    held = replace(PatientMedicines.of(consult), patient=patient_of(consult))
    known = {name: medicines(name) for name in ordered}
    planned = [medicine for named in known.values() for medicine in named]
    illnesses = [
        finding.name
        for finding in findings
        if finding.category is Category.MEDICAL_HISTORY and finding.polarity is Polarity.PRESENT
    ]
    entries = {entry.title: entry for entry in shelf}
    printed = printed_warnings(entries.values(), opened, held, illnesses, planned)
    told = [
        conflict
        for name, named in known.items()
        if named
        for conflict in conflicts(f"Give {name}.", replace(held, printed=printed))
    ]
    warnings = tuple(OrderWarning(conflict, entries.get(conflict.source)) for conflict in dict.fromkeys(told))
    return OrderCheck(warnings, tuple(name for name, named in known.items() if not named))
