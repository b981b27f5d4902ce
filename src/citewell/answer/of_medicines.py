"""Whether a statement is of the medicines that a question names, or of others."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.answer.statements import Statement, is_dose
from citewell.answer.subclasses import subclasses
from citewell.clinical.medicines import Medicine, medicines, members


def is_of_another(statement: Statement, document: str, named: Sequence[Medicine]) -> bool:
    """Whether a statement is about medicines of which the question names none; what it leans on counts too.

    Under a title that names one it may speak of others, but doses there are theirs. What is said of a class is said of
    its members, but not where another member is named beside it or above it. Where a class is asked for, its members
    are no others.
    """
    if not named:
        return False
    names, families = {one.name for one in named}, {one.family for one in named}
    above = medicines("\n".join((document, *statement.titles)))
    if not is_dose(statement.text) and names & {one.name for one in medicines("\n".join(statement.titles))}:
        return False
    found, groups = _told(statement)
    if names & {one.name for one in found} or any(_is_member(one, named) for one in found):
        return False
    if groups and not any(one.is_class for one in named):
        return not any(names & group for group in groups)
    if not found:
        return False
    rivals = (one for one in (*found, *above) if one.family in families and not one.is_class)
    return not families & {one.name for one in found} or any(rivals)


def _told(statement: Statement) -> tuple[tuple[Medicine, ...], tuple[frozenset[str], ...]]:
    """The medicines that a statement or the one that it leans on names, and the members of each group it names."""
    leant: Statement | None = statement
    while leant is not None:
        found, groups = _in_cells(leant), subclasses(leant.text)
        if found or groups:
            return found, groups
        leant = leant.previous
    return (), ()


def _in_cells(statement: Statement) -> tuple[Medicine, ...]:
    """The medicines that a statement is about.

    A class at the head of a column says nothing of what stands in it. A term that names a medicine is what its
    sentence is about: “Ondansetron. For a child who cannot keep ORS down …”.
    """
    text = statement.text
    found = medicines(text)
    if statement.kind == "term":
        head = text.partition(". ")[0]
        return tuple(one for one in found if one.start < len(head)) or found
    if statement.kind != "row":
        return found
    return tuple(one for one in found if not (one.is_class and text[one.end :].startswith(":")))


def is_in_company_of_others(
    statement: Statement, section: Sequence[Statement], document: str, named: Sequence[Medicine]
) -> bool:
    """Whether a statement that names no medicine stands in a section on others than those that are asked about.

    “Give the last dose 24 hours before” is of the medicine that the other sentences name, whatever is asked.
    """
    if not named or medicines(statement.text):
        return False
    said = "\n".join((document, *statement.titles, *(one.text for one in section)))
    told, names = medicines(said), {one.name for one in named}
    if any(one.name in names or _is_member(one, named) for one in told):
        return False
    if any(names & group for group in subclasses(said)):
        return False
    others = [one for one in told if not (one.is_class and _is_kind_of(one, named)) and not members(one.name)]
    families = {one.family for one in named}
    are_rivals = any(one.family in families and not one.is_class for one in others)
    return bool(others) and (are_rivals or not any(_is_kind_of(one, named) for one in told))


def _is_kind_of(one: Medicine, named: Sequence[Medicine]) -> bool:
    """Whether a medicine is the class of one of those named, or a kind that it belongs to."""
    kinds = {one.name, *members(one.name)}
    return any(not kinds.isdisjoint((each.name, each.family)) for each in named)


def _is_member(one: Medicine, named: Sequence[Medicine]) -> bool:
    """Whether a medicine, or its class, belongs to a class that is named."""
    kinds = {kind for each in named if each.is_class for kind in (each.name, *members(each.name))}
    return not {one.name, one.family}.isdisjoint(kinds)
