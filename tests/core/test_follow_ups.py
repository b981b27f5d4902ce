"""Forty follow-ups asked of the samples: what they stand for, and what their answers show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from citewell.answer.events import AnswerDone
from citewell.app import App
from citewell.types import Answer, Cite, Message

FOLLOW_UPS = Path(__file__).parents[1] / "data" / "follow_ups.tsv"
LEAST = {"worked": 13, "kept": 17}
"""Right answers of twenty each; “worked” was written while rules chose."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    """A follow-up, the question it stands for, and what its answer must and must not show."""

    of: str
    is_answered: bool
    before: tuple[str, ...]
    question: str
    alone: str
    shown: tuple[str, ...]
    hidden: tuple[str, ...]

    def asked(self, app: App) -> Answer:
        """What it gets after all that was asked before it."""
        said = [message for text in self.before for message in (Message("user", text), Message("assistant", "So."))]
        *_, last = app.knowledge.ask(self.question, scope=app.owner().scope, history=said)
        assert isinstance(last, AnswerDone)
        return last.answer

    def is_right(self, answer: Answer) -> bool:
        """Whether it was searched for as it stands alone, and answered; what the samples lack is never just cited."""
        text = " ".join(answer.text.replace("\xa0", " ").split())
        if any(words in text for words in self.hidden) or not all(words in text for words in self.shown):
            return False
        return answer.query == (self.alone or answer.query) and (
            self.is_answered or not isinstance(answer.action, Cite)
        )


def _follow_ups() -> list[FollowUp]:
    rows = (line.split("\t") for line in FOLLOW_UPS.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [
        FollowUp(of, answered == "yes", tuple(before.split("||")), question, alone, _words(shown), _words(hidden))
        for of, answered, before, question, alone, shown, hidden in rows
    ]


def _words(cell: str) -> tuple[str, ...]:
    return tuple(filter(None, cell.split("|")))


def test_there_are_twenty_to_work_on_and_twenty_kept() -> None:
    sets = [one.of for one in _follow_ups()]
    assert (sets.count("worked"), sets.count("kept")) == (20, 20)


@pytest.mark.slow
def test_follow_ups_are_answered_for_what_they_name_and_not_for_what_was_asked_before(samples: App) -> None:
    asked = _follow_ups()
    right = {of: sum(one.is_right(one.asked(samples)) for one in asked if one.of == of) for of in LEAST}
    assert {of: count for of, count in right.items() if count < LEAST[of]} == {}
