"""A tenant's knowledge base: every sentence cited and checked, or the question goes to the person who knows."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citewell.answer.assemble import Budget, assemble
from citewell.answer.finish import Asked, Judge, Policy, Verify, abstain, finish, refuse
from citewell.answer.guard import is_suspicious
from citewell.answer.rephrase import rephrase
from citewell.answer.retrieve import Search, retrieve
from citewell.answer.route import route
from citewell.answer.stream import Done, Event, Working
from citewell.answer.subjects import subjects
from citewell.ports import Owners, Writer
from citewell.prompts import Template
from citewell.types import Claim, Context, Hit, Message, Scope

FOLDER = Path(__file__).parent
RULES = Template.read(FOLDER / "rules.txt")
RATING = Template.read(FOLDER / "rating.txt")

REFUSED = "This reads like an instruction to the assistant, not a question. Ask about what the documents say."
NO_DOCUMENTS = "No relevant documents found"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much evidence and history an answer may use."""

    chunks: int = 5
    evidence_tokens: int = 3_000
    history_tokens: int = 1_000


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The assistant, with the parts it needs."""

    search: Search
    writer: Writer
    verify: Verify
    calibrate: Callable[[Sequence[Claim], Context], float]
    owners: Owners
    admin_email: str | None
    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    entailment: str | None = None
    """The entailment model that is asked last of every sentence, where there is one."""

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message] = ()) -> Iterator[Event]:
        """Answer one question, sentence by sentence; the last event holds the answer."""
        started = time.perf_counter()
        nothing = Asked(str(uuid.uuid4()), question, Context(()), self.writer.name, RULES.hash, self.policy, RULES.text)
        judge = self._judge(nothing, (), scope, started)
        if is_suspicious(question):
            yield Done(refuse(nothing, REFUSED, judge=judge))
            return
        yield Working("searching")
        query = rephrase(question, history, lexicon=self.search.lexicon)
        hits = retrieve(query, scope=scope, search=self.search, limit=self.limits.chunks).hits
        context = self._context(question, hits, history)
        asked = replace(nothing, context=context, subjects=subjects(query, lexicon=self.search.lexicon))
        judge = self._judge(asked, hits, scope, started)
        if not context.evidence:
            yield Done(abstain(asked, NO_DOCUMENTS, judge=judge))
            return
        yield Working("writing", len(context.evidence))
        pieces = self.writer.write(query, context, rules=RULES.text)
        yield from finish(pieces, asked, verify=self.verify, judge=judge)

    def setup(self) -> Mapping[str, Any]:
        """What it is set to, so that an answer can be told from another's later."""
        writer = {"name": self.writer.name, "window": self.writer.window, "reply": self.writer.reply}
        shown = sorted(verdict.value for verdict in self.policy.shown)
        policy = {**asdict(self.policy), "shown": shown}
        prompts = {"rules": RULES.hash, "rating": RATING.hash}
        built: dict[str, Any] = {"citewell": version("citewell"), "prompts": prompts}
        if self.entailment is not None:
            built["entailment"] = self.entailment
        return {**built, "writer": writer, "limits": asdict(self.limits), "policy": policy}

    def _context(self, question: str, hits: Sequence[Hit], history: Sequence[Message]) -> Context:
        budget = Budget(self.writer.window, self.writer.reply, self.limits.evidence_tokens, self.limits.history_tokens)
        return assemble(question, hits, history, system=RULES.text, budget=budget, count=self.writer.count)

    def _judge(self, asked: Asked, hits: Sequence[Hit], scope: Scope, started: float) -> Judge:
        return Judge(
            rate=lambda answer: self.writer.rate(asked.question, asked.context, answer),
            calibrate=self.calibrate,
            route=lambda reason: route(reason, hits, scope=scope, owners=self.owners, admin_email=self.admin_email),
            took_ms=lambda: (time.perf_counter() - started) * 1000,
        )
