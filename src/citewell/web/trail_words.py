"""What the trail of access says in words: who did what with which thing."""

from __future__ import annotations

THINGS = {
    "document": "document",
    "conversation": "question",
    "evidence": "question in a journey",
    "check": "text to check",
    "inbox": "question of the inbox",
    "audit": "audit record",
    "trail": "record of access",
    "guideline": "guideline or assessment",
    "assessment": "assessment",
    "consult": "consultation",
    "record": "health record",
    "key": "key or account",
    "session": "session",
    "user": "person",
    "tag": "tag",
    "journey": "journey",
    "account": "account",
    "answer": "answer",
    "search": "search",
}
"""What an action is about, by the word before its dot."""

DEEDS = {
    "open": "opened",
    "list": "listed",
    "search": "searched",
    "export": "downloaded",
    "delete": "deleted",
    "change": "changed",
    "add": "added",
    "stream": "asked",
    "ask": "asked",
    "hand-on": "sent to a person",
    "reply": "answered",
    "report": "reported",
    "say": "added to",
    "sign": "signed",
    "import": "added to",
    "share": "shared",
    "unshare": "no longer shared",
    "replace": "replaced",
    "move": "moved",
    "withdraw": "withdrawn",
    "restore": "restored",
}
"""What was done with it, by the word after; others are said as they are."""


WHOLE = {
    "search.search": "Searched",
    "check.add": "Text checked",
    "document.samples": "Samples added",
    "guideline.assess": "Patient assessed",
    "key.profile": "Account changed",
    "record.create": "Health record created",
}
"""Actions that their two words do not tell."""


def deed(action: str) -> str:
    """An action of the trail in words.

    >>> deed("document.open"), deed("consult.sign"), deed("search.search"), deed("queue.re-read")
    ('Document opened', 'Consultation signed', 'Searched', 'Queue: re read')
    """
    if action in WHOLE:
        return WHOLE[action]
    kind, _, verb = action.partition(".")
    thing, done = THINGS.get(kind, kind), DEEDS.get(verb)
    words = f"{thing}: {verb.replace('-', ' ')}" if done is None else f"{thing} {done}"
    return words[:1].upper() + words[1:]
