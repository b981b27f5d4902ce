"""Answers a question over a library: retrieve, rerank, select, write, gate."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from typing import Any, ClassVar

from citewell.answer.audit import writer_record
from citewell.answer.events import AnswerDone, Event, StageStarted
from citewell.answer.expand import expand
from citewell.answer.followup import rephrase
from citewell.answer.gate import AnswerRequest, AnswerWording, Judge, Policy, Verify, abstain, finish, refuse
from citewell.answer.generate import Budget, assemble
from citewell.answer.question_subject import Subject, graded_subjects, subjects
from citewell.answer.rank import ANSWERING
from citewell.answer.retrieve import Search, retrieve
from citewell.answer.route_to_owner import route
from citewell.answer.select import AnswerScorer, rerank, weights_sha256
from citewell.errors import TokenBudgetExceededError
from citewell.orders import is_suspicious
from citewell.ports import Owners, Writer
from citewell.ports.models import EXTRACTIVE
from citewell.prompts import Template
from citewell.types import Claim, Context, Hit, Message, Scope

PASSAGES_READ = 8
"""Passages whose statements are read before the best are kept."""
UNREAD = "chosen by words and similarity only, because the answer reader is off"
"""The reservation of every quoted answer without the reader."""
TOO_LONG = "Passages were found, but they are too long for the model's context window"
"""Why no answer can be given where not even a sentence of what was found fits."""
ONLY_ORDERS = "What was found reads like instructions to the assistant and was left out"
"""Why no answer can be given where nothing else was found."""


@dataclass(frozen=True, slots=True)
class AnswerLimits:
    """How much evidence and history an answer may use."""

    chunks: int = 5
    evidence_tokens: int = 3_000
    history_tokens: int = 1_000


@dataclass(frozen=True, slots=True)
class LibraryAssistant(ABC):
    """An assistant over a library: retrieve, rerank, select, write, gate. Only what the scope holds is ever ranked."""

    rules: ClassVar[Template]
    refused: ClassVar[str]
    """What is said to an instruction that poses as a question."""

    search: Search
    writer: Writer
    verify: Verify
    calibrate: Callable[[str, Sequence[Claim], Context], float]
    """The chance that claims answer a question."""
    owners: Owners
    admin_email: Callable[[str], str | None]
    """Who is named where a tenant has no administrator; never somebody of another tenant."""
    reader: AnswerScorer | None = None
    """Tells whether a statement answers a question; none where it is switched off."""
    policy: Policy = field(default_factory=Policy)
    limits: AnswerLimits = field(default_factory=AnswerLimits)

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message] = ()) -> Iterator[Event]:
        """Answer one question, sentence by sentence; the last event holds the answer."""
        started = time.perf_counter()
        request = AnswerRequest(
            id=str(uuid.uuid4()),
            question=question,
            context=Context(()),
            model=self.writer.name,
            prompt_hash=self.rules.hash,
            policy=self.policy,
            rules=self.rules.text,
            frame=AnswerWording(reservation=UNREAD if self.reader is None and self.writer.name == EXTRACTIVE else None),
            notes=self.notes(scope),
            is_quoted=self.writer.name == EXTRACTIVE,
        )
        if is_suspicious(question):
            yield AnswerDone(refuse(request, self.refused, judge=self._judge(request, (), scope, started)))
            return
        yield StageStarted("searching")
        query = rephrase(question, history, lexicon=self.search.lexicon)
        found = self._retrieved(query, scope)
        hits = self._reranked(query, found)
        if hits:
            yield StageStarted("reading", len(hits))
        written, context = self._fitted(question, query, hits, history)
        notes = {**request.notes, **_suspicious(found[: self.limits.chunks], context)}
        request = replace(request, context=context, query=query, subjects=self._subjects(query), notes=notes)
        begun_at = time.monotonic()
        # a follow-up is rated as the writer was asked it: by itself “and for how long?” asks nothing
        judge = self._judge(replace(request, question=written), hits, scope, started, begun_at=begun_at)
        if not context.evidence:
            is_blank = not any(hit.text.strip() for hit in hits)
            why = (ONLY_ORDERS if is_blank else TOO_LONG) if hits else self.nothing(scope)
            yield AnswerDone(abstain(request, why, judge=judge))
            return
        yield StageStarted("writing", len(context.evidence))
        pieces = self.writer.write(written, context, rules=self.rules.text, begun_at=begun_at)
        yield from finish(pieces, request, verify=self.verify, judge=judge)

    def setup(self) -> Mapping[str, Any]:
        known = {name: value for name, value in asdict(self.policy).items() if value is not None}
        policy = {**known, "shown": sorted(verdict.value for verdict in self.policy.shown)}
        reader = "off" if self.reader is None else self.reader.name
        return {
            "citewell": version("citewell"),
            **self.built(),
            "answer_reader": f"{reader}, weights {weights_sha256()}",
            "writer": writer_record(self.writer),
            "limits": asdict(self.limits),
            "policy": policy,
        }

    # ------------------------------------------------------------------------------------- what an assistant says

    @abstractmethod
    def nothing(self, scope: Scope) -> str:
        """Why no answer can be given where nothing was found."""

    @abstractmethod
    def built(self) -> Mapping[str, Any]:
        """What else it is made of."""

    def notes(self, _scope: Scope) -> Mapping[str, Any]:
        """What else goes on record with an answer."""
        return {}

    def shaped(self, context: Context) -> Context:
        """The evidence as it is shown to the writer."""
        return context

    # ----------------------------------------------------------------------------------------------------- inside

    def _retrieved(self, query: str, scope: Scope) -> tuple[Hit, ...]:
        """The passages nearest to a question; for a reader more than an answer is written from."""
        limit = self.limits.chunks if self.reader is None else max(self.limits.chunks, PASSAGES_READ)
        return retrieve(query, scope=scope, search=self.search, limit=limit, controls=ANSWERING).hits

    def _reranked(self, query: str, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The passages that an answer is written from; with a reader, those with the best statements."""
        if self.reader is None:
            return hits
        expansions = expand(query, lexicon=self.search.lexicon, to_answer=True)
        return rerank(query, hits, reader=self.reader, expansions=expansions, limit=self.limits.chunks)

    def _subjects(self, query: str) -> tuple[Subject, ...]:
        """What an answer must speak of."""
        lexicon = self.search.lexicon
        return *subjects(query, lexicon=lexicon), *graded_subjects(query, lexicon=lexicon)

    def _fitted(
        self, question: str, query: str, hits: Sequence[Hit], history: Sequence[Message]
    ) -> tuple[str, Context]:
        """The words to be answered, and what fits beside them.

        A rephrasing that leaves no room for evidence gives way to the question as it was typed; the history tells what
        that leans on.
        """
        if query != question:
            with suppress(TokenBudgetExceededError):
                context = self._context(query, hits, history)
                if context.evidence or not hits:
                    return query, context
        return question, self._context(question, hits, history)

    def _context(self, question: str, hits: Sequence[Hit], history: Sequence[Message]) -> Context:
        budget = Budget(self.writer.window, self.writer.reply, self.limits.evidence_tokens, self.limits.history_tokens)
        context = assemble(question, hits, history, system=self.rules.text, budget=budget, count=self.writer.count)
        return self.shaped(context)

    def _judge(
        self,
        request: AnswerRequest,
        hits: Sequence[Hit],
        scope: Scope,
        started: float,
        *,
        begun_at: float | None = None,
    ) -> Judge:
        return Judge(
            rate=lambda answer: self.writer.rate(request.question, request.context, answer, begun_at=begun_at),
            calibrate=lambda claims, context: self.calibrate(request.question, claims, context),
            route=lambda reason: route(
                reason, hits, scope=scope, owners=self.owners, admin_email=self.admin_email(scope.tenant)
            ),
            took_ms=lambda: (time.perf_counter() - started) * 1000,
        )


def _suspicious(nearest: Sequence[Hit], context: Context) -> dict[str, list[str]]:
    """The documents of which a passage near to the question gives orders and is no evidence."""
    used = {evidence.hit.source_id for evidence in context.evidence}
    titles = dict.fromkeys(hit.document for hit in nearest if hit.is_suspicious and hit.source_id not in used)
    return {"suspicious": list(titles)} if titles else {}
