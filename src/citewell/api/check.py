"""What the API and the page of checks share: a text checked where answers are written, counted by its sentences."""

from __future__ import annotations

import asyncio
import time
from contextvars import copy_context
from dataclasses import dataclass

from citewell.answer.gate import MAX_CHECKED_CHARACTERS, MAX_CHECKED_SENTENCES
from citewell.api.problems import Refused
from citewell.api.rate_limits import too_many
from citewell.api.server_state import ServerState
from citewell.api.visitor import Visitor
from citewell.sentences import sentences
from citewell.types import Scope, SentenceCheck

SENTENCES_AN_ASK = 10
"""So many sentences of a text count as one question."""
STILL_RUNNING = "{count} of your texts are still being checked. Wait for one to finish, then send this one."
LOOK_AGAIN_S = 10


@dataclass(frozen=True, slots=True)
class Checking:
    """A text, and what it is held against: the library in a scope, one document of it, or words that came with it."""

    text: str
    scope: Scope
    against: str | None = None
    evidence: str | None = None


async def checked(site: ServerState, visitor: Visitor, asked: Checking) -> list[tuple[str, SentenceCheck]]:
    """Every sentence with its verdict; refused where the visitor's allowance is used up or others of theirs run."""
    name = f"{visitor.tenant}/{visitor.user_id}"
    if not site.checks.begin(name):
        raise Refused(too_many(STILL_RUNNING.format(count=site.checks.at_once), LOOK_AGAIN_S))
    try:
        site.take_ask(visitor, count=asks_for(asked.text))

        def work() -> list[tuple[str, SentenceCheck]]:
            app = site.loaded()
            started = time.perf_counter()
            results = app.check(asked.text, against=asked.against, evidence=asked.evidence, scope=asked.scope)
            site.note_check((time.perf_counter() - started) * 1000, len(results))
            return results

        running = site.writers.submit(copy_context().run, work)
    except BaseException:
        site.checks.end(name)
        raise
    # Who goes away does not end the work: it counts until it is done.
    running.add_done_callback(lambda _running: site.checks.end(name))
    return await asyncio.wrap_future(running)


def asks_for(text: str) -> int:
    """How many questions a text counts as; one that is too long to be checked, as one.

    >>> asks_for("Give iron."), asks_for("Give iron. " * 25)
    (1, 3)
    """
    count = 0 if len(text) > MAX_CHECKED_CHARACTERS else len(sentences(text))
    return max(1, -(-count // SENTENCES_AN_ASK)) if count <= MAX_CHECKED_SENTENCES else 1
