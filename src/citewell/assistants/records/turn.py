"""One question to a record while it is being answered: how it is looked up, and what the gate must know of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from citewell.answer.events import AnswerDone
from citewell.answer.followup import rephrase
from citewell.answer.gate import AnswerRequest, AnswerWording, Judge, Policy, refuse
from citewell.assistants.records.agree import agree
from citewell.assistants.records.confidence import confidence
from citewell.assistants.records.intents import Intents, intents_of
from citewell.assistants.records.named_facts import Names
from citewell.assistants.records.paper_mentions import Paper
from citewell.assistants.records.question_kinds import QuestionKindRule, classify
from citewell.assistants.records.release import ReleaseCounts
from citewell.assistants.records.safety_filter import counted, template
from citewell.assistants.records.screening import FILTERED, ScreenedQuestion
from citewell.assistants.records.strategy import Strategy, strategy
from citewell.clinical.languages import Language, language_of
from citewell.sentences import sentences
from citewell.types import Claim, Context, Evidence, LibraryEntry, Message, Refuse, Scope, Verdict
from citewell.types.facts import Fact

if TYPE_CHECKING:
    from citewell.assistants.records.ask import Records

POLICY = Policy(threshold=0.0, min_relevance=0.0)
"""A patient has nobody to be handed to: what is found is shown for what it is."""
PAPERS_NAMED = 3
NOTHING = "nothing"
"""The words for a question that the record does not answer, by their name in the table."""


@dataclass(frozen=True)
class RecordExchange:
    """One question while it is being answered."""

    records: Records
    question: str
    screened: ScreenedQuestion
    scope: Scope
    history: tuple[Message, ...]
    started: float
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    tally: ReleaseCounts = field(default_factory=ReleaseCounts)
    """What became of a model's replies; empty without one."""
    unused: list[dict[str, str]] = field(default_factory=list)
    """What of the question nothing could use, and why."""

    @cached_property
    def text(self) -> str:
        """The question as it is looked up: without what was filtered, and a follow-up with what it follows."""
        plain = " ".join(self.screened.text.replace(FILTERED, " ").split())
        return rephrase(plain, self.history, lexicon=self.records.search.lexicon)

    @cached_property
    def wanted(self) -> Intents:
        """What it wants from the facts."""
        return intents_of(self.text, now=self.records.now())

    @cached_property
    def papers(self) -> list[Paper]:
        """The papers of the record, but for those that are nothing but facts."""
        return self.records.places.papers(self.scope)

    @cached_property
    def kind(self) -> QuestionKindRule:
        return classify(self.text, near=self.records.near)

    @cached_property
    def language(self) -> Language:
        """In which language it is answered as far as the words are ours: that of the settings, or of the question."""
        return self.records.language or language_of(self.screened.text)

    @property
    def plan(self) -> Strategy:
        return strategy(self.kind)

    @cached_property
    def asks_besides(self) -> bool:
        """Whether a sentence that tells of no emergency asks the record for something."""
        parts = [self.text[start:end] for start, end in sentences(self.text)]
        besides = [part for part in parts if self.records.emergency(part) is None]
        return any(Names.of(beside, self.records.search.lexicon).names_something for beside in besides)

    def asked(self, context: Context, *, before: str = "", after: str = "") -> AnswerRequest:
        """What the gate must know; calm words at the end are known only once the reply is read."""
        notes: dict[str, Any] = {
            "kind": self.kind.value,
            "emergency": list(self.screened.emergency.kinds) if self.screened.emergency else [],
            "filtered": self.screened.filtered,
            "is_cut": self.screened.is_cut,
            "unused": list(self.unused),
            "before": before,
            "after": after,
            **self.filter_notes(),
        }

        def closing() -> str:
            notes.update(after=_joined(after, self.tally.calm))
            return self.tally.calm

        frame = AnswerWording(before=before, after=after, closing=closing)
        rules = self.records.rules
        return AnswerRequest(
            self.id, self.question, context, self.records.writer.name, rules.hash, POLICY, rules.text, frame, notes
        )

    def filter_notes(self) -> Mapping[str, Any]:
        """What may be kept of the filter: its outcome, and how many phrases of each kind it found."""
        if not self.tally.replies:
            return {}
        return {"replies": self.tally.replies, "filter": self.tally.outcome, "phrases": counted(self.tally.findings)}

    def said(self, why: str, *, unread: Sequence[LibraryEntry] = ()) -> AnswerDone:
        """An answer without citations, in the fixed words for a reason; papers may say it in words of their own."""
        names = ", ".join(f"“{one.title}”" for one in unread[:PAPERS_NAMED])
        look = template("papers", self.language).replace("{names}", names) if names else ""
        return self.put(_joined(template(why, self.language), look))

    def put(self, words: str) -> AnswerDone:
        """The same in words that were made for it."""
        return AnswerDone(refuse(self.asked(Context(())), words, judge=self.judge()))

    def judge(self, shown: Iterable[Fact] = (), known: Sequence[Fact] = ()) -> Judge:
        """The end of an answer; nobody is sent a patient's question."""
        agreement = agree(shown, known)

        def refused(_reason: str) -> Refuse:
            return Refuse(self.tally.calm or template(NOTHING, self.language))

        return Judge(
            rate=lambda _answer: None,
            calibrate=partial(_trusted, agreement=agreement),
            route=refused,
            took_ms=lambda: (time.perf_counter() - self.started) * 1000,
        )


def _trusted(claims: Sequence[Claim], context: Context, *, agreement: float) -> float:
    """How far an answer can be trusted: what is verified, how near it is, and how far the sources agree."""
    cited = [evidence for evidence in context.evidence if any(_holds(evidence, claim) for claim in claims)]
    return confidence(
        verified=sum(claim.check.verdict is Verdict.SUPPORTED for claim in claims),
        claims=len(claims),
        relevances=[evidence.hit.relevance for evidence in cited],
        agreement=agreement,
    )


def _holds(evidence: Evidence, claim: Claim) -> bool:
    """Whether the words that decided on a claim stand in a passage."""
    return any(
        span.source_id == evidence.hit.source_id and evidence.start <= span.start < evidence.end
        for span in claim.check.spans
    )


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
