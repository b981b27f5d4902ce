"""Asks, and is passed on, until it is killed; says on standard output what was given and what was kept."""

from __future__ import annotations

import random
import sys
from pathlib import Path

from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.answer.events import AnswerDone, AnswerStarted
from citewell.app import build
from citewell.config import Settings
from citewell.ingest.parse_cut_embed import FileReader
from citewell.minilm.tokenizer import WordPiece
from citewell.types import Source
from tests.faults.churn import Hashes, say

QUESTIONS = ("How much ferrous sulfate for anaemia in adults?", "What is the capital of France?")
LEAFLET = b"# Iron\n\nGive ferrous sulfate 200 mg once daily for iron deficiency anaemia in adults."


def ask_for_ever(home: Path, seed: int) -> None:
    """Ask in new and in old conversations."""
    chance = random.Random(seed)
    with build(Settings(home=home)) as app:
        app.__dict__["embedder"] = Hashes()
        app.__dict__["reader"] = FileReader(all_parsers(), WordPiece.load(), Hashes(), app.settings.limits)
        app.add_source(Source(LEAFLET, "iron.md"))
        app.ask(QUESTIONS[0])  # all parts are loaded
        say("ready")
        while True:
            known = [one.id for one in app.ask_service.conversations.all(app.owner())]
            chosen = chance.choice([None, *known[:3]])
            for event in app.ask_service.ask(chance.choice(QUESTIONS), asker=app.owner(), conversation_id=chosen):
                if isinstance(event, AnswerStarted):
                    say("kept", event.conversation_id)
                elif isinstance(event, AnswerDone):
                    say("done", event.answer.id, event.conversation_id, event.routed_id)


if __name__ == "__main__":
    ask_for_ever(Path(sys.argv[1]), int(sys.argv[2]))
