"""Answers a patient from their own record: facts and passages, quoted or worded by a model, and never without care."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citewell.answer.assemble import Budget, assemble
from citewell.answer.cite import MARK
from citewell.answer.finish import Asked, Frame, Judge, Policy, Verify, finish, refuse
from citewell.answer.rephrase import rephrase
from citewell.answer.retrieve import Search, retrieve
from citewell.answer.stream import Done, Event, Working, whole_sentences
from citewell.assistants.records.boundary import REGENERATIONS, Boundary, decide, parse_boundary
from citewell.assistants.records.confidence import confidence
from citewell.assistants.records.cues import language_of
from citewell.assistants.records.examples import Nearness
from citewell.assistants.records.gather import Gathered, Known, gather
from citewell.assistants.records.kinds import Kind, classify
from citewell.assistants.records.place import Places
from citewell.assistants.records.safety import Blocked, Passed, check_sentence, template
from citewell.assistants.records.screening import FILTERED, Screened, screen
from citewell.assistants.records.sources import Sources
from citewell.assistants.records.strategy import Strategy, strategy
from citewell.assistants.records.wishes import wishes
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.types import Check, Claim, Context, Hit, Message, Refuse, Scope, Span, Verdict
from citewell.types.facts import Allergy, Fact
from citewell.types.facts_line import line_of

RULES = Template.read(Path(__file__).parent / "rules.txt")
POLICY = Policy(threshold=0.0, min_relevance=0.0)
"""A patient has nobody to be handed to: what is found is shown for what it is."""
EVIDENCE_TOKENS, HISTORY_TOKENS = 3_000, 1_000
MIN_RELEVANCE = 0.2
"""A passage below this is about something else."""

EMPTY = "Your record is empty. Add a letter, a result or an export from your clinic first."
NOTHING = "Your record says nothing about this, as far as I can find. Your doctor can help with this question."
REFERENCE = (
    "Your record does not explain this, and I answer only from your record. Your doctor or pharmacist can explain it."
)
MORE = "{count} more are not shown here; the facts page has them all."
TOLD = "You told this yourself:"


@dataclass(frozen=True)
class Records:
    """The assistant, with the parts it needs."""

    search: Search
    writer: Writer
    verify: Verify
    known: Callable[[Scope], Sequence[Fact]]
    places: Places
    is_model: bool
    near: Nearness | None = None
    """How near a question is to examples; without it cues alone tell its kind and an emergency."""
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message] = ()) -> Iterator[Event]:
        """Answer one question; the last event holds the answer, and an emergency is told before anything else."""
        turn = Turn(self, question, screen(question, near=self.near), scope, tuple(history), time.perf_counter())
        yield Working("searching")
        facts, hits, is_empty = self._found(turn)
        if is_empty:
            yield turn.said(EMPTY)
            return
        gathered = gather(
            turn.text, wishes(turn.text, now=self.now()), Known(tuple(facts)), lexicon=self.search.lexicon
        )
        if self.is_model:
            yield from self._worded(turn, facts, gathered, hits, history)
        elif gathered is not None:
            yield from self._quoted_facts(turn, gathered)
        elif hits:
            yield from self._quoted_passages(turn, hits, history)
        else:
            yield turn.said(REFERENCE if turn.kind is Kind.GENERAL else NOTHING)

    def setup(self) -> Mapping[str, Any]:
        """What it is set to, so that an answer can be told from another's later."""
        writer = {"name": self.writer.name, "window": self.writer.window, "reply": self.writer.reply}
        built = {"citewell": version("citewell"), "assistant": "records", "prompts": {"rules": RULES.hash}}
        return {**built, "writer": writer}

    def _found(self, turn: Turn) -> tuple[Sequence[Fact], list[Hit], bool]:
        """Facts and passages, looked up at the same time."""
        with ThreadPoolExecutor(1, "citewell-facts") as beside:
            waiting = beside.submit(self.known, turn.scope)
            found = retrieve(turn.text, scope=turn.scope, search=self.search, limit=2 * turn.plan.top_k).hits
            facts = waiting.result()
        is_empty = not facts and not found and not self.places.library.entries(turn.scope)
        return facts, self._recent(found, turn), is_empty

    def _recent(self, hits: Sequence[Hit], turn: Turn) -> list[Hit]:
        """The passages by relevance and recency, as much of each as the kind of question wants."""
        scored, plan = [], turn.plan
        for one in hits:
            if one.relevance < MIN_RELEVANCE:
                continue
            dated = self.places.dated(one.document_id, turn.scope)
            age = None if dated is None else (self.now() - dated).days
            if (score := plan.score(one.relevance, age_days=age)) is not None:
                scored.append((score, one))
        return [one for _, one in sorted(scored, key=lambda pair: -pair[0])][: plan.top_k]

    # ------------------------------------------------------------------------------------------------ without a model

    def _quoted_facts(self, turn: Turn, gathered: Gathered) -> Iterator[Event]:
        """The lines of the facts, each with the place that it was read from."""
        hits = self.places.hits(gathered.facts, turn.scope)
        told = [f"• {line_of(fact)}" for fact in gathered.facts if fact.origin.document_id is None]
        after = [f"{TOLD}\n" + "\n".join(told)] if told else []
        after += [MORE.format(count=gathered.left_out)] if gathered.left_out else []
        if not hits:
            yield turn.said("\n\n".join([gathered.lead, *after]))
            return
        context = self._context(turn, hits, ())
        yield Working("writing", len(context.evidence))
        asked = turn.asked(context, before=gathered.lead, after="\n\n".join(after))
        pieces = (f"• {one.text} [{one.alias}]" for one in context.evidence)
        yield from finish(pieces, asked, verify=self._verbatim, judge=turn.judge(), cut=lambda some: some)

    def _quoted_passages(self, turn: Turn, hits: Sequence[Hit], history: Sequence[Message]) -> Iterator[Event]:
        """Sentences of the documents, word for word, each with its document and date."""
        context = self._context(turn, hits, history)
        yield Working("writing", len(context.evidence))
        asked = turn.asked(context, before="Your documents say:")
        pieces = self.writer.write(turn.text, context, rules=RULES.text)
        yield from finish(pieces, asked, verify=self.verify, judge=turn.judge())

    def _verbatim(self, sentence: str, spans: Sequence[Span]) -> Check:
        """A line of the record, without the mark of its list."""
        return self.verify(sentence.removeprefix("• "), spans)

    # --------------------------------------------------------------------------------------------------- with a model

    def _worded(
        self,
        turn: Turn,
        facts: Sequence[Fact],
        gathered: Gathered | None,
        hits: Sequence[Hit],
        history: Sequence[Message],
    ) -> Iterator[Event]:
        """A model words it: allergies first, then facts, then passages; every sentence passes check and filter."""
        allergies = [one for one in facts if isinstance(one, Allergy) and one.is_active]
        chosen = list(dict.fromkeys([*allergies, *(gathered.facts if gathered else ())]))
        evidence = [*self.places.hits(chosen, turn.scope), *hits]
        if not evidence:
            yield turn.said(gathered.lead if gathered else NOTHING)
            return
        context = self._context(turn, evidence, history)
        yield Working("writing", len(context.evidence))
        sources = Sources.of(one.text for one in context.evidence)
        draft = self._draft(turn, context)
        if draft is None:
            yield turn.said(template("boundary", language_of(turn.text)))
            return
        calm: list[str] = []
        pieces = list(_filtered(whole_sentences([draft]), sources, calm))
        asked = turn.asked(context, after="\n\n".join(dict.fromkeys(calm)))
        yield from finish(pieces, asked, verify=self.verify, judge=turn.judge(), cut=lambda some: some)

    def _draft(self, turn: Turn, context: Context) -> str | None:
        """What a model writes, within its bounds; None where it does not keep to them however often it is asked."""
        for _ in range(REGENERATIONS + 1):
            reply = "".join(self.writer.write(turn.screened.block, context, rules=RULES.text))
            declared = parse_boundary(reply)
            if declared.text and decide(declared) is not Boundary.OUT_OF_BOUNDS:
                return declared.text
        return None

    def _context(self, turn: Turn, hits: Sequence[Hit], history: Sequence[Message]) -> Context:
        budget = Budget(self.writer.window, self.writer.reply, EVIDENCE_TOKENS, HISTORY_TOKENS)
        return assemble(turn.text, hits, history, system=RULES.text, budget=budget, count=self.writer.count)


@dataclass(frozen=True)
class Turn:
    """One question while it is being answered."""

    records: Records
    question: str
    screened: Screened
    scope: Scope
    history: tuple[Message, ...]
    started: float
    id: str = field(default_factory=lambda: str(uuid.uuid4()))

    @cached_property
    def text(self) -> str:
        """The question as it is looked up: without what was filtered, and a follow-up with what it follows."""
        plain = " ".join(self.screened.text.replace(FILTERED, " ").split())
        return rephrase(plain, self.history, lexicon=self.records.search.lexicon)

    @cached_property
    def kind(self) -> Kind:
        return classify(self.text, near=self.records.near)

    @property
    def plan(self) -> Strategy:
        return strategy(self.kind)

    @property
    def notice(self) -> str:
        """What an emergency needs to be told first; empty where there is none."""
        return self.screened.emergency.notice if self.screened.emergency else ""

    def asked(self, context: Context, *, before: str = "", after: str = "") -> Asked:
        """What the gate must know."""
        head = "\n\n".join(part for part in (self.notice, before) if part)
        frame = Frame(before=head, after=after)
        notes = {
            "kind": self.kind.value,
            "emergency": list(self.screened.emergency.dangers) if self.screened.emergency else [],
            "filtered": self.screened.filtered,
            "is_cut": self.screened.is_cut,
            "before": head,
            "after": after,
        }
        model, policy = self.records.writer.name, POLICY
        return Asked(self.id, self.question, context, model, RULES.hash, policy, RULES.text, frame, notes)

    def said(self, words: str) -> Done:
        """An answer without citations: that there is nothing, or what is not there."""
        text = "\n\n".join(part for part in (self.notice, words) if part)
        return Done(refuse(self.asked(Context(())), text, judge=self.judge()))

    def judge(self) -> Judge:
        """The end of an answer; nobody is sent a patient's question."""
        return Judge(
            rate=lambda _answer: None,
            calibrate=_trusted,
            route=lambda _reason: Refuse("\n\n".join(part for part in (self.notice, NOTHING) if part)),
            took_ms=lambda: (time.perf_counter() - self.started) * 1000,
        )


def _trusted(claims: Sequence[Claim], context: Context) -> float:
    """How far an answer can be trusted: what is verified, how near it is, and how far the sources agree."""
    verified = sum(claim.check.verdict is Verdict.SUPPORTED for claim in claims)
    return confidence(
        verified=verified,
        claims=len(claims),
        relevances=[one.hit.relevance for one in context.evidence],
        agreement=1.0,
    )


def _filtered(sentences: Iterable[str], sources: Sources, calm: list[str]) -> Iterator[str]:
    """The sentences that may be shown to a patient, in other words where that makes them so; marks stay."""
    for sentence in sentences:
        outcome = check_sentence(sentence, sources)
        if isinstance(outcome, Blocked):
            calm.append(outcome.text)
        elif isinstance(outcome, Passed):
            yield sentence
        else:
            marks = "".join(one.group() for one in MARK.finditer(sentence))
            yield MARK.sub("", outcome.text) + marks
