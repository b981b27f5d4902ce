"""Users and endings for the tests of what is kept."""

from __future__ import annotations

import uuid
from typing import Any

from citewell.history import ConversationPlace, KeptOutcome
from citewell.types import Role, Route, Scope, User

EVERYTHING = Scope.owner("clinic")
OWNER = User.owner(EVERYTHING)
ANN = User(str(uuid.UUID(int=1)), Role.MEMBER, Scope("clinic", frozenset({"ward"}), None, None))
BOB = User(str(uuid.UUID(int=2)), Role.MEMBER, Scope("clinic", frozenset({"ward"}), None, None))
STRANGER = User(ANN.user_id, Role.ADMIN, Scope.owner("elsewhere"))
"""An administrator of another tenant, whose id even happens to be the same."""

ROUTE = Route("ward", BOB.user_id, "bob@clinic.example", "Low confidence: 45%", fallback=False)


def ending(
    question: str = "How much iron?",
    asker: User = ANN,
    *,
    place: ConversationPlace | None = None,
    text: str | None = "200 mg once daily. [1]",
    route: Route | None = None,
    words: dict[str, Any] | None = None,
) -> KeptOutcome:
    """What became of a question."""
    nowhere = ConversationPlace(str(uuid.uuid4()), 1)
    told = words or {"question": question, "claims": []}
    return KeptOutcome(str(uuid.uuid4()), question, asker, place or nowhere, told, text, route)
