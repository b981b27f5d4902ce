"""Answers a patient from their own record: facts and passages, quoted or worded by a model, and never without care."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citewell.answer.audit import writer_record
from citewell.answer.events import AnswerDone, Event, Notice, StageStarted
from citewell.answer.gate import Verify, finish
from citewell.answer.generate import Budget, assemble
from citewell.answer.retrieve import Search, retrieve
from citewell.assistants.records.align import align
from citewell.assistants.records.fact_places import FactDocuments, unread
from citewell.assistants.records.fact_query import GatheredFacts
from citewell.assistants.records.fetch import allergies, fetch
from citewell.assistants.records.intents import Intent
from citewell.assistants.records.kind_examples import Nearness
from citewell.assistants.records.known_facts import KnownFacts
from citewell.assistants.records.look_up import look_up
from citewell.assistants.records.named_facts import Names
from citewell.assistants.records.newer import newer
from citewell.assistants.records.notes import notes
from citewell.assistants.records.paper_mentions import on_topic
from citewell.assistants.records.question_kinds import QuestionKindRule
from citewell.assistants.records.release import release
from citewell.assistants.records.safety_filter import counted
from citewell.assistants.records.screening import screen
from citewell.assistants.records.source_sentences import Sources
from citewell.assistants.records.turn import NOTHING, RecordExchange
from citewell.assistants.records.unused import unused
from citewell.clinical.languages import Language
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.types import (
    Context,
    Emergency,
    Evidence,
    EvidenceSpan,
    Hit,
    LibraryEntry,
    Message,
    Refuse,
    Scope,
    SentenceCheck,
)
from citewell.types.facts import Fact
from citewell.types.facts_line import line_of
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

RULES = Template.read(Path(__file__).parent / "rules.txt")
EVIDENCE_TOKENS, HISTORY_TOKENS = 3_000, 1_000
MIN_RELEVANCE = 0.2
"""A passage below this is about something else."""
REMEMBERED = 4
"""Messages of earlier conversations that a model is shown."""
ASKED_SHOWN = 5
"""Earlier questions that are listed before an appointment."""

MORE = "{count} more are not shown here. You can see them all on your record's pages."
TOLD = "You added this yourself:"
PAPERS_SAY = "Your documents say:"
BESIDE = 0.5
"""How near a fact is that only stands beside a “no”."""
EARLIER = "You asked this before:"


@dataclass(frozen=True)
class Records:
    """The assistant, with the parts it needs."""

    search: Search
    writer: Writer
    quoter: Writer
    """Who quotes word for word where no model words the answer, or where nothing of what it wrote could be shown."""
    verify: Verify
    known: Callable[[Scope], Sequence[Fact]]
    places: FactDocuments
    is_model: bool
    near: Nearness | None = None
    """How near a question is to examples; without it cues alone tell its kind."""
    emergency: Callable[[str], Emergency | None] = lambda _text: None
    """Finds what cannot wait; the desk tells it before anything else."""
    recent: Callable[[Scope], Sequence[Message]] = lambda _scope: ()
    """What was said in earlier conversations, oldest first."""
    language: Language | None = None
    """In which language our own words are; None is that of the question."""
    rules: Template = RULES
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message] = ()) -> Iterator[Event]:
        """Answer one question; the last event holds the answer."""
        screened = screen(question, emergency=self.emergency)
        turn = RecordExchange(self, question, screened, scope, tuple(history), time.perf_counter())
        yield StageStarted("searching")
        facts, hits, is_empty = self._found(turn)
        if is_empty:
            yield turn.said("empty")
            return
        known = KnownFacts(tuple(facts))
        gathered, said = look_up(turn, known)
        if not screened.emergency:
            turn.unused.extend(unused(turn.text, known.facts, said, lexicon=self.search.lexicon))
        if screened.emergency and gathered is None and not turn.asks_besides:
            yield turn.put("")  # nothing beside the way to help may calm anybody down, or ask them to read
            return
        is_told = False
        if self.is_model:
            is_told = yield from self._worded(turn, known, gathered, [*said, *hits])
        if not is_told:
            yield from self._quoted(turn, known, gathered, hits, said)

    def setup(self) -> Mapping[str, Any]:
        """What it is set to, so that an answer can be told from another's later."""
        built = {"citewell": version("citewell"), "assistant": "records", "prompts": {"rules": self.rules.hash}}
        return {**built, "writer": writer_record(self.writer), "language": self.language or "of the question"}

    def _found(self, turn: RecordExchange) -> tuple[Sequence[Fact], list[Hit], bool]:
        """Facts and passages, looked up at the same time."""
        with ThreadPoolExecutor(1, "citewell-facts") as beside:
            waiting = beside.submit(self.known, turn.scope)
            hits = retrieve(turn.text, scope=turn.scope, search=self.search, limit=2 * turn.plan.top_k).hits
            facts = waiting.result()
        is_empty = not facts and not hits and not self.places.library.entries(turn.scope)
        return facts, self._recent(hits, turn), is_empty

    def _recent(self, hits: Sequence[Hit], turn: RecordExchange) -> list[Hit]:
        """The passages by relevance and recency, as much of each as the kind of question wants."""
        scored, plan = [], turn.plan
        for hit in hits:
            if hit.relevance < MIN_RELEVANCE:
                continue
            dated = self.places.dated(hit.document_id, turn.scope)
            age = None if dated is None else (self.now() - dated).days
            if (score := plan.score(hit.relevance, age_days=age)) is not None:
                scored.append((score, hit))
        return [other for _, other in sorted(scored, key=lambda pair: -pair[0])][: plan.top_k]

    def _asked_before(self, turn: RecordExchange) -> list[str]:
        """What was asked of late, for who prepares a visit."""
        if Intent.PREPARE not in turn.wanted:
            return []
        return list(dict.fromkeys(message.text for message in self._remembered(turn) if message.role == "user"))[
            -ASKED_SHOWN:
        ]

    def _remembered(self, turn: RecordExchange) -> list[Message]:
        """What was said in other conversations, where the kind of question wants it; never this question itself."""
        if "conversations" not in turn.plan.parts:
            return []
        here = {turn.question, *(message.text for message in turn.history)}
        return [message for message in self.recent(turn.scope) if message.text not in here]

    # ------------------------------------------------------------------------------------------------ without a model

    def _quoted(
        self,
        turn: RecordExchange,
        known: KnownFacts,
        gathered: GatheredFacts | None,
        hits: Sequence[Hit],
        said: Sequence[Hit],
    ) -> Iterator[Event]:
        """The record's own words: facts where they tell something, else sentences of the documents."""
        near = on_topic(hits, Names.of(turn.text, self.search.lexicon))
        if gathered is not None:
            yield from self._quoted_facts(turn, known, gathered, said)
        elif near:
            yield from self._quoted_passages(turn, near)
        elif said:
            yield from self._quoted_facts(turn, known, GatheredFacts(PAPERS_SAY), said)
        else:
            yield turn.said(
                "reference" if turn.kind is QuestionKindRule.GENERAL else NOTHING, unread=self._unread(turn, known)
            )

    def _quoted_facts(
        self, turn: RecordExchange, known: KnownFacts, gathered: GatheredFacts, said: Sequence[Hit]
    ) -> Iterator[Event]:
        """The lines of the facts, each with the place that it was read from, and what papers say of the same."""
        hits = self.places.hits(gathered.facts, turn.scope)
        if gathered.if_mentioned:  # what stands beside a “no” is not what was asked for
            hits = [replace(hit, relevance=BESIDE) for hit in hits]
        after = _listed(TOLD, _told(gathered))
        after += [MORE.format(count=gathered.left_out)] if gathered.left_out else []
        after += [*self._notes(turn, known, gathered, said), *_listed(EARLIER, self._asked_before(turn))]
        lead, found = newer(gathered, hits, said, [self.places.dated(hit.document_id, turn.scope) for hit in said])
        if not hits and not said:
            yield turn.put("\n\n".join([lead, *after]))
            return
        yield StageStarted("reading", len(found))
        context = self._context(turn.text, found, ())
        yield Notice(lead)
        yield StageStarted("writing", len(context.evidence))
        asked = turn.asked(context, before=lead, after="\n\n".join(after))
        named = [] if gathered.is_letter else said
        days = {hit.source_id: self.places.dated(hit.document_id, turn.scope) for hit in named}
        pieces = (_line(evidence, days) for evidence in context.evidence)
        judge = turn.judge(gathered.facts, known.facts)
        yield from finish(pieces, asked, verify=self._verbatim, judge=judge, cut=lambda some: some)

    def _notes(
        self, turn: RecordExchange, known: KnownFacts, gathered: GatheredFacts, hits: Sequence[Hit]
    ) -> list[str]:
        """What must be added: papers without facts, papers that were searched in vain, how old the record is."""
        is_named = gathered.is_letter or Names.of(turn.text, self.search.lexicon).names_something
        told = {hit.document_id for hit in hits} if is_named else set()
        return notes(
            gathered,
            known,
            turn.wanted,
            unread=[library_entry for library_entry in self._unread(turn, known) if library_entry.id not in told],
            searched=0 if hits else len(turn.papers),
            now=self.now(),
        )

    def _unread(self, turn: RecordExchange, known: KnownFacts) -> list[LibraryEntry]:
        """The papers that no fact was read from."""
        return unread([entry for entry, _ in turn.papers], known.facts)

    def _quoted_passages(self, turn: RecordExchange, hits: Sequence[Hit]) -> Iterator[Event]:
        """Sentences of the documents, word for word, each with its document and date."""
        yield StageStarted("reading", len(hits))
        context = self._context(turn.text, hits, turn.history)
        lead = PAPERS_SAY
        yield Notice(lead)
        yield StageStarted("writing", len(context.evidence))
        pieces = self.quoter.write(turn.text, context, rules=self.rules.text)
        yield from finish(pieces, turn.asked(context, before=lead), verify=self.verify, judge=turn.judge())

    def _verbatim(self, sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck:
        """A line of the record, without the mark of its list."""
        return self.verify(_MARK.sub("", sentence), spans)

    # --------------------------------------------------------------------------------------------------- with a model

    def _worded(
        self, turn: RecordExchange, known: KnownFacts, gathered: GatheredFacts | None, hits: Sequence[Hit]
    ) -> Generator[Event, None, bool]:
        """A model words it: allergies first, then what is named, passages, and facts of the kind that is asked for.

        Every sentence passes the filter and the check before it is shown; says whether anything was told at all.
        """
        named = [*allergies(known), *(gathered.facts if gathered else ())]
        others = [fact for fact in fetch(known, turn.plan, now=self.now()) if fact not in named]
        places = self.places
        evidence = [*places.hits(dict.fromkeys(named), turn.scope), *hits, *places.hits(others, turn.scope)]
        if not evidence:
            return False
        yield StageStarted("reading", len(evidence))
        history = [*self._remembered(turn)[-REMEMBERED:], *turn.history]
        context = self._context(turn.screened.block, evidence, history)
        yield StageStarted("writing", len(context.evidence))
        after = _listed(TOLD, _told(gathered)) if gathered else []
        asked, judge = turn.asked(context, after="\n\n".join(after)), turn.judge(named, known.facts)
        for event in finish(
            self._released(turn, context), asked, verify=self.verify, judge=judge, cut=lambda some: some
        ):
            if isinstance(event, AnswerDone):
                log.info("answer %s: filter %s, %s", logged(turn.id), turn.tally.outcome, counted(turn.tally.findings))
                if isinstance(event.answer.action, Refuse) and not turn.tally.calm:
                    return False
                yield AnswerDone(replace(event.answer, notes={**event.answer.notes, **turn.filter_notes()}))
            else:
                yield event
        return True

    def _released(self, turn: RecordExchange, context: Context) -> Iterator[str]:
        """What a model writes, as far as a patient may see it; a sentence without a mark gets that of its passage."""
        begun_at = time.monotonic()  # a reply that is written again has what the one before it left of the time
        sentences = release(
            lambda: self.writer.write(turn.screened.block, context, rules=self.rules.text, begun_at=begun_at),
            Sources.of(evidence.text for evidence in context.evidence),
            turn.tally,
            language=turn.language,
        )
        yield from (align(sentence, context.evidence) for sentence in sentences)

    def _context(self, question: str, hits: Sequence[Hit], history: Sequence[Message]) -> Context:
        budget = Budget(self.writer.window, self.writer.reply, EVIDENCE_TOKENS, HISTORY_TOKENS)
        return assemble(question, hits, history, system=self.rules.text, budget=budget, count=self.writer.count)


def _line(evidence: Evidence, papers: Mapping[str, datetime | None]) -> str:
    """A line of an answer; of a paper that is no fact, its name and day stand first."""
    text, source = " ".join(evidence.text.split()), evidence.hit.source_id
    if source not in papers:
        return f"• {text} [{evidence.alias}]"
    day = papers[source]
    of = f" ({day.day} {day:%B %Y})" if day else ""
    return f"• From “{_BRACKETS.sub('', evidence.hit.document)}”{of}: {text} [{evidence.alias}]"


_MARK = re.compile(r"^• (?:From “[^”]*”(?: \(\d+ \w+ \d+\))?: )?")
_BRACKETS = re.compile(r"[\[\]“”\n]")


def _told(gathered: GatheredFacts) -> list[str]:
    """What the person said themselves, which stands in no document."""
    return [line_of(fact) for fact in gathered.facts if fact.origin.document_id is None]


def _listed(lead: str, lines: Sequence[str]) -> list[str]:
    return ["\n".join([lead, *(f"• {line}" for line in lines)])] if lines else []
