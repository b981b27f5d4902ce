"""Which allergy may be to which medicine: the same substance, or one of a group in which people react to each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from citewell import vocabulary
from citewell.clinical.medicines import medicines


def reacts(allergen: str, names: Sequence[str]) -> str | None:
    """Whether an allergy may be to a medicine of these names: an empty word for the same, or their group.

    >>> reacts("penicillin", ["amoxicillin"]), reacts("penicillin", ["penicillin"]), reacts("penicillin", ["aspirin"])
    ('penicillins', '', None)
    """
    if substances(allergen) & substances(*names):
        return ""
    for group in _groups():
        if group.holds(allergen) and any(group.holds(name) for name in names):
            return group.name
    return None


def substances(*names: str) -> frozenset[str]:
    """What is meant by names: the usual name of each medicine, or the words themselves where it is none we know."""
    found = {one.name for name in names for one in medicines(name) if not one.is_class}
    return frozenset(found or {" ".join(name.casefold().split()) for name in names})


@dataclass(frozen=True, slots=True)
class _Group:
    """Medicines of which one may stand for another in an allergy."""

    name: str
    called: frozenset[str]
    classes: frozenset[str]
    members: frozenset[str]

    def holds(self, written: str) -> bool:
        """Whether a name is the group's own, or that of one of its medicines."""
        folded = " ".join(written.casefold().split())
        if folded in self.called:
            return True
        return any(one.family in self.classes or one.name in self.members for one in medicines(written))


@cache
def _groups() -> tuple[_Group, ...]:
    made = []
    for name, called, classes, members in vocabulary.rows("cross_reactions.tsv"):
        split = [frozenset(one for one in cell.split("|") if one) for cell in (called.casefold(), classes, members)]
        made.append(_Group(name, *split))
    return tuple(made)
