"""The one rule of who may open what was withheld: the sentences that were not shown, and the draft they stood in.

And the one way of saying how many there are and why, for the answer, the page and the command line.

Whoever asked sees a closed line that counts them, and may open it: those who ask the library are clinicians and staff.
Whoever answers a question that was passed on may, as far as their own documents allow, and so may administrators.
Where patients ask, no draft is kept at all (`Policy.keeps_draft`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from citewell.types import Asker

WHY = {
    "contradicted": "contradicted by the sources",
    "not_found": "not found in the sources",
    "partly": "only partly supported",
    "supported": "worded as an instruction",
    "routed": "taken back with the whole answer",
}
"""Why a sentence was withheld, by its verdict, the gravest first; “routed” is what was supported and went with the
rest when a question was passed on."""


def may_open(reader: Asker, *, asked_by: str, owner_id: str | None = None) -> bool:
    """Whether a person may open what was withheld from an answer; nobody of another tenant gets as far as this.

    >>> from citewell.types import Role, Scope
    >>> ann = Asker("ann", Role.MEMBER, Scope("clinic", frozenset(), None, None))
    >>> may_open(ann, asked_by="ann"), may_open(ann, asked_by="bob", owner_id="ann"), may_open(ann, asked_by="bob")
    (True, True, False)
    """
    return reader.is_admin or reader.user_id in (asked_by, owner_id)


def why_withheld(verdicts: Iterable[str], *, is_routed: bool = False) -> str:
    """How many sentences were withheld and why, in words.

    >>> why_withheld(["not_found"])
    '1 sentence withheld: not found in the sources'
    >>> why_withheld(["not_found", "contradicted", "not_found"])
    '3 sentences withheld: 1 contradicted by the sources, 2 not found in the sources'
    >>> why_withheld(["supported", "supported"], is_routed=True)
    '2 sentences withheld: taken back with the whole answer'
    """
    named = ("routed" if is_routed and one == "supported" else str(one) for one in verdicts)
    counts = Counter(named)
    reasons = [(counts[name], words) for name, words in WHY.items() if counts[name]]
    told = ", ".join(words if len(reasons) == 1 else f"{count} {words}" for count, words in reasons)
    total = counts.total()
    return f"{total} sentence{'s' * (total > 1)} withheld: {told}"
