"""Answers a patient from their own record: facts and passages, quoted or worded by a model, and never without care."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citewell.answer.audit import writer_record
from citewell.answer.cite import cite
from citewell.answer.events import AnswerDone, Event, Notice, StageStarted
from citewell.answer.gate import AnswerRequest, AnswerWording, Judge, Policy, Verify, finish, refuse
from citewell.answer.generate import Budget, assemble
from citewell.answer.retrieve import Search, retrieve
from citewell.assistants.records.align import align
from citewell.assistants.records.answer_caveats import notes
from citewell.assistants.records.answer_timeline import with_asked_details
from citewell.assistants.records.confidence import agree, confidence
from citewell.assistants.records.fact_places import FactDocuments, is_coded, unread
from citewell.assistants.records.fact_query import RECORD, GatheredFacts, denied, listed
from citewell.assistants.records.fact_sentences import FactLine, fact_lines
from citewell.assistants.records.facts_for_question import Strategy, strategy
from citewell.assistants.records.follow_ups import Understood, understood
from citewell.assistants.records.gather import fetch, gather, known_allergies, newer
from citewell.assistants.records.intent_head import Embed, with_likely
from citewell.assistants.records.intents import OUTSIDE_FACTS, Intent, Intents, intents_of, of_their_year
from citewell.assistants.records.known_facts import LONG_AGO, KnownFacts, when
from citewell.assistants.records.letters import letter
from citewell.assistants.records.named_facts import Names, holds_name, unused
from citewell.assistants.records.nearest import NEAR, Alike, nearest, with_nearest
from citewell.assistants.records.paper_mentions import Paper, PaperMention, mentions, on_topic
from citewell.assistants.records.paper_values import critical_values
from citewell.assistants.records.papers import day_of
from citewell.assistants.records.plain_question import as_own, plain_question
from citewell.assistants.records.question_kinds import Nearness, QuestionKindRule, classify
from citewell.assistants.records.release import ReleaseCounts, release
from citewell.assistants.records.row_details import row_details
from citewell.assistants.records.safety_filter import counted, template
from citewell.assistants.records.screening import FILTERED, ScreenedQuestion, screen
from citewell.assistants.records.sections import SectionRow, section_rows, under_headings
from citewell.assistants.records.source_sentences import Sources
from citewell.clinical.languages import Language, language_of
from citewell.ports import Writer
from citewell.prompts import Template
from citewell.sentences import paragraphs, sentences
from citewell.types import (
    Claim,
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
    Verdict,
)
from citewell.types.facts import Fact, LabResult, RecordOwner
from citewell.types.hashed_ids import logged

log = logging.getLogger(__name__)

RULES = Template.read(Path(__file__).parent / "rules.txt")
EVIDENCE_TOKENS, HISTORY_TOKENS = 3_000, 1_000
LINES_TOKENS = 24_000
"""What the lines of facts may take, of which no model reads any."""
MOST_LINES, MOST_CITED = 60, 6
"""Lines of one answer, and places that one line cites; of more, the newest."""
MOST_FOR_MODEL = 12
"""Facts that a model is shown of those that answer."""
MIN_RELEVANCE = 0.2
"""A passage below this is about something else."""
REMEMBERED = 4
"""Messages of earlier conversations that a model is shown."""
ASKED_SHOWN = 5
"""Earlier questions that are listed before an appointment."""

MORE = "{count} more are not shown here. You can see them all on your record's pages."
TOLD = "You added this yourself:"
UNPLACED = "In your record, but with no line in a document to show you:"
ABOUT = "Read as a follow-up about {topic}:"
PAPERS_SAY = "Your documents say:"
BESIDE = 0.5
"""How near a fact is that only stands beside a “no”."""
EARLIER = "You asked this before:"
MOST_ROWS = 8
"""Rows of a section that one answer quotes."""
BEHIND = 0.2
"""How far behind the nearest row of a section another may be that is meant too."""
IN_PLANS = frozenset({Intent.DUE, Intent.NEXT, Intent.SAID})
"""Wishes that a plan may answer."""
LACKING = {
    Intent.FAMILY: "does not include anything about your family",
    Intent.DIRECTIVES: "does not include a living will or another advance decision",
    Intent.INSURANCE: "does not include anything about your insurance",
}
"""What is said where there is no such section."""
POLICY = Policy(threshold=0.0, min_relevance=0.0)
"""A patient has nobody to be handed to: what is found is shown for what it is."""
PAPERS_NAMED = 3
NOTHING = "nothing"
"""The words for a question that the record does not answer, by their name in the table."""
LISTED = frozenset(
    {Intent.CHANGES, Intent.MEDICINES, Intent.DIAGNOSES, Intent.ALLERGIES, Intent.VACCINATIONS, Intent.PROCEDURES}
)
"""Wishes for all of a kind, of which a newer paper may know more."""


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
    alike: Alike | None = None
    """How near names of facts are to a question; without it only words find them."""
    embed: Embed | None = None
    """Makes vectors of questions, from which their wishes are told where cues tell none."""
    near: Nearness | None = None
    """How near a question is to examples; without it cues alone tell its kind."""
    emergency: Callable[[str], Emergency | None] = lambda _text: None
    """Finds what cannot wait; the service tells it before anything else."""
    recent: Callable[[Scope], Sequence[Message]] = lambda _scope: ()
    """What was said in earlier conversations, oldest first."""
    language: Language | None = None
    """In which language our own words are; None is that of the question."""
    rules: Template = RULES
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    def ask(self, question: str, *, scope: Scope, history: Sequence[Message] = ()) -> Iterator[Event]:
        screened = screen(question, emergency=self.emergency)
        turn = RecordExchange(self, question, screened, scope, tuple(history), time.perf_counter())
        yield StageStarted("searching")
        facts, hits, is_empty = self._found(turn)
        if is_empty:
            yield turn.refusal("empty")
            return
        known = KnownFacts(tuple(facts))
        gathered, quotes = look_up(turn, known)
        if not screened.emergency:
            turn.unused.extend(unused(turn.text, known.facts, quotes, lexicon=self.search.lexicon))
        if screened.emergency and gathered is None and not turn.asks_besides:
            yield turn.put("")  # nothing beside the way to help may calm anybody down, or ask them to read
            return
        is_answered = False
        if self.is_model:
            is_answered = yield from self._worded(turn, known, gathered, [*quotes, *hits])
        if not is_answered:
            yield from self._quoted(turn, known, gathered, hits, quotes)

    def setup(self) -> Mapping[str, Any]:
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
        return [hit for _, hit in sorted(scored, key=lambda pair: -pair[0])][: plan.top_k]

    def _asked_before(self, turn: RecordExchange) -> list[str]:
        """What was asked of late, for who prepares a visit."""
        if Intent.PREPARE not in turn.wanted:
            return []
        questions = (message.text for message in self._remembered(turn) if message.role == "user")
        return list(dict.fromkeys(questions))[-ASKED_SHOWN:]

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
        quotes: Sequence[Hit],
    ) -> Iterator[Event]:
        """The record's own words: facts where they tell something, else sentences of the documents."""
        near = on_topic(hits, Names.of(turn.text, self.search.lexicon))
        if gathered is not None and not (gathered.is_guess and near):
            yield from self._quoted_facts(turn, known, gathered, quotes)
        elif near:
            yield from self._quoted_passages(turn, near)
        elif quotes:
            yield from self._quoted_facts(turn, known, GatheredFacts(PAPERS_SAY), quotes)
        else:
            yield turn.refusal(
                "reference" if turn.kind is QuestionKindRule.GENERAL else NOTHING, unread=self._unread(turn, known)
            )

    def _quoted_facts(
        self, turn: RecordExchange, known: KnownFacts, gathered: GatheredFacts, quotes: Sequence[Hit]
    ) -> Iterator[Event]:
        """A line for each fact, with the places that it was read from, and what papers say of the same."""
        lines = fact_lines(gathered.facts, now=self.now())
        left_out = gathered.left_out + sum(len(line.facts) for line in lines[MOST_LINES:])
        lines = lines[:MOST_LINES]
        held = self.places.placed((fact for line in lines for fact in line.facts), turn.scope)
        placed = [(line, _places(line, held)) for line in lines]
        hits = [hit for _, found in placed for hit in found]
        if gathered.if_mentioned or gathered.is_near:  # what stands beside a “no” is not what was asked for
            hits = [replace(hit, relevance=BESIDE) for hit in hits]
        bare = [line for line, found in placed if not found]
        own = [line for line in bare if all(fact.origin.document_id is None for fact in line.facts)]
        after = _listed(TOLD, own) + _listed(UNPLACED, [line for line in bare if line not in own])
        after += [MORE.format(count=left_out)] if left_out else []
        after += (
            [] if gathered.if_mentioned or gathered.is_near else row_details(plain_question(turn.text).text, placed)
        )
        after += [*self._notes(turn, known, gathered, quotes), *_bullets(EARLIER, self._asked_before(turn))]
        dates = [self.places.dated(quote.document_id, turn.scope) for quote in quotes]
        lead, passages = newer(gathered, hits, quotes, dates)
        lead = paragraphs(turn.about, lead)
        if not hits and not quotes:
            yield turn.put("\n\n".join([lead, *after]))
            return
        yield StageStarted("reading", len(passages))
        context = self._context(turn.text, passages, (), most=LINES_TOKENS)
        yield Notice(lead)
        yield StageStarted("writing", len(context.evidence))
        asked = turn.asked(context, before=lead, after="\n\n".join(after), gap="\n\n")
        named = [] if gathered.is_letter else quotes
        days = {quote.source_id: self.places.dated(quote.document_id, turn.scope) for quote in named}
        told = _told(placed, context)
        papers = [_line(passage, days) for passage in context.evidence if any(_is_at(passage, hit) for hit in quotes)]
        is_first = bool(quotes) and passages[0] is quotes[0]
        pieces = [*papers, *told] if is_first else [*told, *papers]
        composed = {cite(piece, ()).text for piece in told}

        def verify(sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck:
            return _of_facts(spans) if sentence in composed else self._verbatim(sentence, spans)

        judge = turn.judge(gathered.facts, known.facts)
        yield from finish(pieces, asked, verify=verify, judge=judge, cut=lambda some: some)

    def _notes(
        self, turn: RecordExchange, known: KnownFacts, gathered: GatheredFacts, quotes: Sequence[Hit]
    ) -> list[str]:
        """What must be added: papers without facts, papers that were searched in vain, how old the record is."""
        is_named = gathered.is_letter or Names.of(turn.text, self.search.lexicon).names_something
        quoted = {quote.document_id for quote in quotes} if is_named else set()
        return notes(
            gathered,
            known,
            turn.wanted,
            unread=[entry for entry in self._unread(turn, known) if entry.id not in quoted],
            searched=0 if quotes else len(turn.papers),
            is_quoted=bool(quotes),
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
        named = [*known_allergies(known), *(gathered.facts[:MOST_FOR_MODEL] if gathered else ())]
        others = [fact for fact in fetch(known, turn.plan, now=self.now()) if fact not in named]
        places = self.places
        evidence = [*places.hits(dict.fromkeys(named), turn.scope), *hits, *places.hits(others, turn.scope)]
        if not evidence:
            return False
        yield StageStarted("reading", len(evidence))
        history = [*self._remembered(turn)[-REMEMBERED:], *turn.history]
        context = self._context(turn.screened.block, evidence, history)
        yield StageStarted("writing", len(context.evidence))
        bare = [fact for fact in (gathered.facts if gathered else ()) if fact.origin.start is None]
        own = [fact for fact in bare if fact.origin.document_id is None]
        after = _listed(TOLD, fact_lines(own, now=self.now()))
        after += _listed(UNPLACED, fact_lines([fact for fact in bare if fact not in own], now=self.now()))
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
        released = release(
            lambda: self.writer.write(turn.screened.block, context, rules=self.rules.text, begun_at=begun_at),
            Sources.of(passage.text for passage in context.evidence),
            turn.tally,
            language=turn.language,
        )
        yield from (align(sentence, context.evidence) for sentence in released)

    def _context(
        self, question: str, hits: Sequence[Hit], history: Sequence[Message], *, most: int = EVIDENCE_TOKENS
    ) -> Context:
        window = max(self.writer.window, most + HISTORY_TOKENS) if most > EVIDENCE_TOKENS else self.writer.window
        budget = Budget(window, self.writer.reply, most, HISTORY_TOKENS)
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


def _places(line: FactLine, held: Mapping[str, Hit]) -> list[Hit]:
    """Where the facts of a line stand; a place that does not hold what they are called is none."""
    found = [hit for fact in line.facts if (hit := held.get(fact.id)) is not None and holds_name(hit.text, fact)]
    return list({(hit.document_id, hit.start): hit for hit in found}.values())[:MOST_CITED]


def _is_at(evidence: Evidence, hit: Hit) -> bool:
    """Whether a passage is the one that was found there."""
    return evidence.hit.document_id == hit.document_id and evidence.hit.start == hit.start


def _told(placed: Sequence[tuple[FactLine, Sequence[Hit]]], context: Context) -> list[str]:
    """The lines that cite something, each group of them under its heading."""
    pieces, group = [], ""
    for line, hits in placed:
        marks = [
            f"[{passage.alias}]"
            for hit in hits
            if (passage := next((one for one in context.evidence if _is_at(one, hit)), None)) is not None
        ]
        if not marks:
            continue
        heading = f"{line.group}:\n" if line.group != group else ""
        group = line.group
        pieces.append(f"{heading}• {line.text} {' '.join(marks)}")
    return pieces


COMPOSED = "based on facts read from these lines"


def _of_facts(spans: Sequence[EvidenceSpan]) -> SentenceCheck:
    """A line that was made of facts rests on the lines that they were read from, each once."""
    first, *others = spans
    return SentenceCheck(Verdict.SUPPORTED, (COMPOSED,), first, 1.0, beside=tuple(others))


def _listed(lead: str, lines: Sequence[FactLine]) -> list[str]:
    return _bullets(lead, [line.text for line in lines])


def _bullets(lead: str, lines: Sequence[str]) -> list[str]:
    return ["\n".join([lead, *(f"• {line}" for line in lines)])] if lines else []


# --------------------------------------------------------------------------------------------------------- one question


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
    def understood(self) -> Understood:
        """What it asks for: without what was filtered, and what cannot stand alone with what it goes on from."""
        owners = KnownFacts(tuple(self.records.known(self.scope))).of(RecordOwner)
        plain = as_own(" ".join(self.screened.text.replace(FILTERED, " ").split()), (one.name for one in owners))
        return understood(plain, self.history, lexicon=self.records.search.lexicon, read=self._read)

    def _read(self, question: str) -> Intents:
        wanted = intents_of(question, now=self.records.now())
        wanted = of_their_year(wanted, question, map(when, self.records.known(self.scope)))
        embed = None if self.screened.emergency else self.records.embed
        return wanted if embed is None else with_likely(wanted, plain_question(question).text, embed)

    @property
    def text(self) -> str:
        """The question as it is looked up."""
        return self.understood.text

    @property
    def wanted(self) -> Intents:
        """What it wants from the facts."""
        return self.understood.wanted

    @property
    def about(self) -> str:
        """What it was taken to be about, where it does not say so itself."""
        topic = self.understood.topic
        return ABOUT.format(topic=f"“{topic}”") if topic else ""

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
        return self.records.language or language_of(plain_question(self.screened.text).text)

    @property
    def plan(self) -> Strategy:
        return strategy(self.kind)

    @cached_property
    def asks_besides(self) -> bool:
        """Whether a sentence that tells of no emergency asks the record for something."""
        parts = [self.text[start:end] for start, end in sentences(self.text)]
        besides = [part for part in parts if self.records.emergency(part) is None]
        return any(Names.of(part, self.records.search.lexicon).names_something for part in besides)

    def asked(self, context: Context, *, before: str = "", after: str = "", gap: str = " ") -> AnswerRequest:
        """What the gate must know; calm words at the end are known only once the reply is read."""
        notes: dict[str, Any] = {
            "kind": self.kind.value,
            "emergency": list(self.screened.emergency.kinds) if self.screened.emergency else [],
            "filtered": self.screened.filtered,
            "is_cut": self.screened.is_cut,
            "unused": list(self.unused),
            **({"topic": self.understood.topic} if self.understood.topic else {}),
            "before": before,
            "after": after,
            **self.filter_notes(),
        }

        def closing() -> str:
            notes.update(after=paragraphs(after, self.tally.calm))
            return self.tally.calm

        frame = AnswerWording(before=before, after=after, closing=closing, gap=gap)
        rules = self.records.rules
        return AnswerRequest(
            self.id, self.question, context, self.records.writer.name, rules.hash, POLICY, rules.text, frame, notes
        )

    def filter_notes(self) -> Mapping[str, Any]:
        """What may be kept of the filter: its outcome, and how many phrases of each kind it found."""
        if not self.tally.replies:
            return {}
        return {"replies": self.tally.replies, "filter": self.tally.outcome, "phrases": counted(self.tally.findings)}

    def refusal(self, why: str, *, unread: Sequence[LibraryEntry] = ()) -> AnswerDone:
        """An answer without citations, in the fixed words for a reason; papers may say it in words of their own."""
        names = ", ".join(f"“{entry.title}”" for entry in unread[:PAPERS_NAMED])
        look = template("papers", self.language).replace("{names}", names) if names else ""
        return self.put(paragraphs(template(why, self.language), look))

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
    cited = [passage for passage in context.evidence if any(_holds(passage, claim) for claim in claims)]
    return confidence(
        verified=sum(claim.check.verdict is Verdict.SUPPORTED for claim in claims),
        claims=len(claims),
        relevances=[passage.hit.relevance for passage in cited],
        agreement=agreement,
    )


def _holds(evidence: Evidence, claim: Claim) -> bool:
    """Whether the words that decided on a claim stand in a passage."""
    return any(
        span.source_id == evidence.hit.source_id and evidence.start <= span.start < evidence.end
        for span in claim.check.spans
    )


# ----------------------------------------------------------------------------------------- what facts and documents say


def look_up(turn: RecordExchange, known: KnownFacts) -> tuple[GatheredFacts | None, list[Hit]]:
    """What the facts say, and what papers say of the same; or a letter or a section that is asked for as such."""
    lexicon = turn.records.search.lexicon
    names = Names.of(turn.text, lexicon)
    if (asked_for := letter(names, turn.wanted, _uncoded(turn))) is not None:
        return GatheredFacts(asked_for.lead, is_letter=True), _quotes(asked_for.said, turn)
    every = section_rows(
        (paper for paper in turn.records.places.documents(turn.scope) if is_coded(paper[0])), known.facts
    )
    if (outside := _outside_facts(turn, names, known, every)) is not None:
        return outside
    gathered = gather(turn.text, turn.wanted, known, lexicon=lexicon, now=turn.records.now())
    mentioned = _mentioned(turn, names, gathered, known)
    is_denied = gathered is None or bool(gathered.if_mentioned)
    if is_denied and not mentioned and not turn.screened.emergency:
        gathered, mentioned = _before_a_no(turn, names, gathered, known, every)
    shown = {(fact.origin.document_id, fact.origin.start) for fact in (gathered.facts if gathered else ())}
    return gathered, _quotes([place for place in mentioned if (place.document_id, place.start) not in shown], turn)


def _outside_facts(
    turn: RecordExchange, names: Names, known: KnownFacts, every: Sequence[SectionRow]
) -> tuple[GatheredFacts, list[Hit]] | None:
    """What stands in sections of which facts hold nothing, where a question asks for one of them."""
    wanted = Intents(turn.wanted.all & OUTSIDE_FACTS)
    if with_asked_details(names.text, known.of(RecordOwner)):  # “am I married?” is told by the head of a file
        wanted = Intents(wanted.all - {Intent.LIFESTYLE, Intent.FAMILY})
    if not wanted.all:
        return None
    held = under_headings(wanted, every)
    if not held:
        asked = turn.wanted.all - turn.wanted.likely  # “my mother” may be whose record it is
        lacking = next((words for wish, words in LACKING.items() if wish in asked), None)
        if lacking is None:
            return None
        gathered, places = _before_a_no(turn, names, None, known, every)
        told = gathered if gathered is not None and Intent.FAMILY not in asked else None
        return (told, _quotes(places, turn)) if told is not None else (denied(f"{RECORD} {lacking}"), [])
    held = _most_alike(turn, held)
    quoted = {(row.place.document_id, row.place.start) for row in held}
    tests = known.of(LabResult) if Intent.LIFESTYLE in wanted else []
    unquoted = [fact for fact in tests if (fact.origin.document_id, fact.origin.start) not in quoted]
    held_too = names.among(unquoted)
    named = [fact for fact in unquoted if fact in held_too]
    headings = listed([f"“{heading}”" for heading in dict.fromkeys(row.heading for row in held)])
    lead = f"{RECORD} says under {headings}:"
    gathered = GatheredFacts(lead, tuple(known.latest(named)), with_papers=lead)
    return gathered, _quotes([row.place for row in held], turn)


def _most_alike(turn: RecordExchange, held: Sequence[SectionRow]) -> list[SectionRow]:
    """Of the rows of a section those that a question means, where it means some; never more than are quoted."""
    if turn.records.alike is None or len(held) == 1 or Intent.ASSESSMENT in turn.wanted:
        return list(held[:MOST_ROWS])
    scores = turn.records.alike(plain_question(turn.text).text, [row.words for row in held])
    ranked = sorted(scores, reverse=True)
    least = ranked[min(MOST_ROWS, len(ranked)) - 1]
    if ranked[0] >= NEAR:
        least = max(least, ranked[0] - BEHIND)
    return [row for row, score in zip(held, scores, strict=True) if score >= least]


def _before_a_no(
    turn: RecordExchange,
    names: Names,
    gathered: GatheredFacts | None,
    known: KnownFacts,
    exported: Sequence[SectionRow],
) -> tuple[GatheredFacts | None, list[PaperMention]]:
    """What stands under the heading that is asked for, or is nearest in meaning in all of the record."""
    every = [row for row in exported if not row.is_read]
    if gathered is not None and not names.names_something:
        return gathered, [row.place for row in _of_kind(turn, every)]
    if turn.records.alike is None or (gathered is not None and names.among(gathered.facts)):
        return gathered, []
    missing, about = names.unknown(known.facts), names.about(())
    if gathered is not None and not missing and names.among(known.facts):
        return gathered, []  # what it names is there, and what it asks of it is not
    near = nearest(turn.text, [*dict.fromkeys([*missing, *about])], known, every, turn.records.alike)
    if missing:  # what tables know by its name is of one kind: a test is no medicine
        near = [match for match in near if match.row is not None or any(map(names.may_be, match.facts))]
    is_known_name = bool(missing or names.vaccines or any(map(names.knows, about)))
    return with_nearest(gathered, about, near, known, is_known_name=is_known_name)


def _of_kind(turn: RecordExchange, every: Sequence[SectionRow]) -> list[SectionRow]:
    """The rows under the headings of a kind; of plans, which hold much else, only what is near to the question."""
    held = under_headings(turn.wanted, every)
    if not held or not turn.wanted.all & IN_PLANS or turn.records.alike is None:
        return held[:MOST_ROWS]
    scores = turn.records.alike(plain_question(turn.text).text, [row.words for row in held])
    return [row for row, score in zip(held, scores, strict=True) if score >= NEAR][:MOST_ROWS]


def _mentioned(
    turn: RecordExchange, names: Names, gathered: GatheredFacts | None, known: KnownFacts
) -> list[PaperMention]:
    """What papers say of the same, which no fact may have: nobody is told “no” before they were searched."""
    if Intent.PREPARE in turn.wanted:
        return [value.place for value in critical_values(_uncoded(turn), known)]
    if gathered is None or gathered.if_mentioned:
        return mentions(names, turn.wanted, turn.papers)
    if names.names_something:
        return mentions(names, turn.wanted, _uncoded(turn))
    return mentions(names, turn.wanted, _newer(turn, gathered))


def _newer(turn: RecordExchange, gathered: GatheredFacts) -> list[Paper]:
    """Of a list, the papers that may be newer than all of it."""
    if not turn.wanted.all & LISTED or not gathered.facts:
        return []
    newest = max(when(fact) or LONG_AGO for fact in gathered.facts)
    days = ((paper, day_of(*paper)) for paper in _uncoded(turn))
    return [paper for paper, day in days if day is None or day > newest]


def _uncoded(turn: RecordExchange) -> list[Paper]:
    """The papers that are no export of codes."""
    return [paper for paper in turn.papers if not is_coded(paper[0])]


def _quotes(places: list[PaperMention] | tuple[PaperMention, ...], turn: RecordExchange) -> list[Hit]:
    return [turn.records.places.quote(place.document_id, place.start, place.end, turn.scope) for place in places]
