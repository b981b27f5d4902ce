"""The one rule of who may open what was withheld: the sentences that were not shown, and the draft they stood in.

Whoever asked sees a closed line that counts them, and may open it: those who ask the library are clinicians and staff.
Whoever answers a question that was passed on may, as far as their own documents allow, and so may administrators.
Where patients ask, no draft is kept at all (`Policy.keeps_draft`).
"""

from __future__ import annotations

from citewell.types import Asker


def may_open(reader: Asker, *, asked_by: str, owner_id: str | None = None) -> bool:
    """Whether a person may open what was withheld from an answer; nobody of another tenant gets as far as this.

    >>> from citewell.types import Role, Scope
    >>> ann = Asker("ann", Role.MEMBER, Scope("clinic", frozenset(), None, None))
    >>> may_open(ann, asked_by="ann"), may_open(ann, asked_by="bob", owner_id="ann"), may_open(ann, asked_by="bob")
    (True, True, False)
    """
    return reader.is_admin or reader.user_id in (asked_by, owner_id)
