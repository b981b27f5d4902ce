"""The gate: cites, checks and scores a draft sentence by sentence. Only this module makes an Answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from citewell.answer.cite import cite, mark, quoted
from citewell.answer.cited_notices import Notices, cited_notices, with_notices_told
from citewell.answer.confidence import coverage, overall
from citewell.answer.events import AnswerDone, Event, Replace, SentenceChecked, StageStarted
from citewell.answer.question_subject import Miss, Subject, missed, sections
from citewell.answer.route_to_owner import NOBODY, OWN_TAG
from citewell.answer.screen import is_abstention, repeats, says_more
from citewell.clinical.populations import of_a_person
from citewell.errors import InputError
from citewell.orders import reads_like_orders
from citewell.sentences import BULLETS, sentences
from citewell.types import (
    Action,
    Answer,
    Citation,
    Cite,
    Claim,
    Confidence,
    Context,
    Emergency,
    Evidence,
    EvidenceSpan,
    Qualified,
    Refuse,
    Route,
    SentenceCheck,
    Verdict,
)
from citewell.work import is_nearly_spent

# ---------------------------------------------------------------------------------------------- what the gate must know


Verify = Callable[[str, Sequence[EvidenceSpan]], SentenceCheck]
"""Checks one sentence against the words it cites."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What an assistant shows and when it hands over; a table to be reviewed."""

    threshold: float = 0.6
    shown: frozenset[Verdict] = frozenset({Verdict.SUPPORTED, Verdict.PARTLY})
    min_relevance: float = 0.1
    """Evidence whose best passage is less relevant than this carries no answer."""
    sure_from: float | None = None
    """Below this confidence, which is low, an answer that does not name what the question is about is passed on, and
    any other says that it may not answer."""
    keeps_draft: bool = False
    """The draft is kept as the model wrote it, for those who may open it: where clinicians ask, never a patient."""


@dataclass(frozen=True, slots=True)
class AnswerWording:
    """How an assistant words what has passed: how it cites, and what it says of its own before and after."""

    mark: Callable[[Citation], str] = mark
    before: str = ""
    after: str = ""
    closing: Callable[[], str] = str
    """What it says at the very end, where that is known only once the draft is read."""
    gap: str = " "
    """What stands between two statements."""
    reservation: str | None = None
    """Why even a well supported answer is shown with a reservation."""


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """A question on its way to an answer: all that the gate must know of it."""

    id: str
    question: str
    context: Context
    model: str
    prompt_hash: str
    policy: Policy
    rules: str = ""
    """What the writer was told; no sentence of it is shown."""
    frame: AnswerWording = field(default_factory=AnswerWording)
    notes: Mapping[str, Any] = field(default_factory=dict)
    """How the assistant came to what it searched, for programs and the record."""
    query: str = ""
    """What was searched for: the question as it stands on its own; empty where nothing was."""
    subjects: tuple[Subject, ...] = ()
    """What the question is about; an answer that does not speak of it is no answer to it."""
    is_quoted: bool = False
    """The writer only quotes: what stands word for word in the passage it cites is carried by it."""


@dataclass(frozen=True, slots=True)
class Judge:
    """What the end of an answer needs: the writer's own estimate, a calibrated one, and who gets a routed question."""

    rate: Callable[[str], float | None]
    calibrate: Callable[[Sequence[Claim], Context], float]
    route: Callable[[str], Route | Refuse]
    """Who gets a question that is not answered well enough, or what is said where nobody does."""
    took_ms: Callable[[], float]


# ------------------------------------------------------------------------------------------------- from draft to answer


UNANSWERED = "The documents do not answer this well enough ({reason})."
NOT_SENT = "It was not sent to anyone."
UNSURE = "this may not answer the question"

WHY = {
    "contradicted": "contradicted by the sources",
    "not_found": "not found in the sources",
    "partly": "only partly supported",
    "supported": "worded as an instruction",
    "routed": "withdrawn with the whole answer",
}
"""Why a sentence was withheld, by its verdict, the gravest first; “routed” is what was supported and went with the
rest when a question was passed on."""

RULE_CHECK = SentenceCheck(Verdict.NOT_FOUND, ("not an answer",), None, 0.0)
RULE_TOLD = Claim("(part of the model's instructions)", RULE_CHECK, (), is_shown=False)
"""What is kept of a sentence by which a model tells its rules: that there was one, and not a word of it."""

NOTHING = Confidence(overall=0.0, retrieval=0.0, coverage=0.0, llm=None, calibrated=0.0)


@dataclass(slots=True)
class Gate:
    """One draft on its way to becoming an answer."""

    request: AnswerRequest
    verify: Verify
    claims: list[Claim] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)
    dropped: int = 0
    abstained: bool = False
    raw: list[str] = field(default_factory=list)
    """The draft as it comes."""

    def read(self, pieces: Iterable[str]) -> Iterator[str]:
        """The pieces of the draft, kept as they were written where the policy says so."""
        for piece in pieces:
            if self.request.policy.keeps_draft:
                self.raw.append(piece)
            yield piece

    def draft(self) -> str:
        """The draft as it came, but for sentences that tell the writer's rules; what is shown tells none."""
        raw, shown = "".join(self.raw), [claim.text for claim in self.claims if claim.is_shown]
        kept, at = "", 0
        for start, end in sentences(raw):
            text = cite(raw[start:end], ()).text
            if repeats(text, self.request.rules) and not any(text in sentence for sentence in shown):
                kept, at = f"{kept}{raw[at:start]}{RULE_TOLD.text}", end
        return kept + raw[at:]

    def take(self, raw: str) -> SentenceChecked | None:
        """Cite and check one sentence of the draft."""
        marked = cite(raw, self.request.context.evidence)
        self.dropped += marked.dropped
        if not marked.text:
            return None
        cited = [passage for passage in self.request.context.evidence if passage.number in marked.cited]
        if is_abstention(marked.text, [passage.text for passage in cited]):
            self.abstained = True
            if not (cited and says_more(marked.text)):
                return None
        check = quoted(marked.text, cited) if self.request.is_quoted else None
        check = check or self.verify(marked.text, [span for passage in cited for span in _spans(passage)])
        is_shown = bool(cited) and check.span is not None and self._may_be_shown(marked.text, check)
        numbers = self._cite(check, cited) if is_shown else ()
        tells_rules = not is_shown and repeats(marked.text, self.request.rules)
        claim = RULE_TOLD if tells_rules else Claim(marked.text, check, numbers, is_shown)
        self.claims.append(claim)
        return SentenceChecked(len(self.claims) - 1, claim, tuple(c for c in self.citations if c.n in numbers))

    def _may_be_shown(self, text: str, check: SentenceCheck) -> bool:
        """Whether the policy lets a sentence through; orders to the model and its own rules never pass."""
        tells_rules = repeats(text, self.request.rules, is_whole=True)
        is_carried = check.verdict in self.request.policy.shown and not check.is_vetoed
        return is_carried and not tells_rules and not reads_like_orders(text)

    def _cite(self, check: SentenceCheck, cited: Sequence[Evidence]) -> tuple[int, ...]:
        """Number the words that decided; a citation is made only of what the sentence cites."""
        return tuple(self._numbered(span, cited) for span in check.spans)

    def _numbered(self, span: EvidenceSpan, cited: Sequence[Evidence]) -> int:
        """The number of the citation of these words, made where there is none."""
        known = next((c for c in self.citations if (c.source_id, c.start, c.end) == _place(span)), None)
        if known is not None:
            return known.n
        hit = next(
            passage.hit
            for passage in cited
            if passage.hit.source_id == span.source_id and passage.start <= span.start < passage.end
        )
        citation = Citation(
            n=len(self.citations) + 1,
            source_id=span.source_id,
            document_id=hit.document_id,
            document=hit.document,
            version=hit.version,
            chunk_index=hit.chunk_index,
            page=hit.page,
            section=hit.section,
            start=span.start,
            end=span.end,
            quote=span.text,
            relevance=hit.relevance,
            published=hit.published,
            before=hit.text[: span.start - hit.start],
            after=hit.text[span.end - hit.start :],
        )
        self.citations.append(citation)
        return citation.n


def _spans(evidence: Evidence) -> list[EvidenceSpan]:
    """The sentences of a passage as its document is cut, where a row of a table is one; else all of it."""
    hit, text = evidence.hit, evidence.text
    cuts = [(max(start, evidence.start), min(end, evidence.end)) for start, end, _ in hit.why.near]
    cuts = [(start, end) for start, end in cuts if text[start - evidence.start : end - evidence.start].strip()]
    titles = (hit.document, *hit.section)
    spans = [
        EvidenceSpan(hit.source_id, start, end, text[start - evidence.start : end - evidence.start], titles)
        for start, end in cuts
        if start < end
    ]
    return spans or [EvidenceSpan(hit.source_id, evidence.start, evidence.end, text, titles)]


def _place(span: EvidenceSpan) -> tuple[str, int, int]:
    return span.source_id, span.start, span.end


MAX_HEAD_WORDS = 2
"""Words of an answer such as “Yes.” that belong to the sentence behind them."""

Cut = Callable[[Iterable[str]], Iterable[str]]
"""Cuts a draft into what is checked as one: sentences, or statements that must be shown whole or not at all."""


def whole_sentences(pieces: Iterable[str]) -> Iterator[str]:
    """Sentences of a text that comes in pieces, each as soon as it can have no more marks.

    A word or two before them that cite nothing, such as “Yes.” or the head of a paragraph, belong to the next one.

    >>> list(whole_sentences(["Take it. [S", "1] Then", " rest.", " [S2]"]))
    ['Take it. [S1]', 'Then rest. [S2]']
    >>> list(whole_sentences(["Haemoptysis. Coughing up", " blood. [S1]"]))
    ['Haemoptysis. Coughing up blood. [S1]']
    """
    head = ""
    for sentence in _cut(pieces):
        if len(sentence.split()) <= MAX_HEAD_WORDS and "[" not in sentence:
            head += f"{sentence} "
        else:
            yield head + sentence
            head = ""
    if head:
        yield head.strip()


def _cut(pieces: Iterable[str]) -> Iterator[str]:
    """Sentences as they come to their end."""
    waiting = ""
    for piece in pieces:
        waiting += piece
        spans = sentences(waiting)
        if len(spans) > 1 and waiting[spans[-1][0]] == "[":
            spans.pop()  # a mark that belongs to the sentence before it may still be coming
        for start, end in spans[:-1]:
            yield waiting[start:end]
        if len(spans) > 1:
            waiting = waiting[spans[-1][0] :]
    yield from (waiting[start:end] for start, end in sentences(waiting))


def finish(
    pieces: Iterable[str], request: AnswerRequest, *, verify: Verify, judge: Judge, cut: Cut = whole_sentences
) -> Iterator[Event]:
    """Let a draft through sentence by sentence; the last event holds the answer."""
    gate, is_checking = Gate(request, verify), False
    for raw in cut(gate.read(pieces)):
        if not is_checking:
            is_checking = True
            yield StageStarted("checking", len(request.context.evidence))
        if (event := gate.take(raw)) is not None:
            yield event
    shown = [claim for claim in gate.claims if claim.is_shown]
    confidence = _confidence(shown, request.context, judge)
    action = _action(gate, shown, confidence, judge)
    claims = gate.claims
    if isinstance(action, Route | Refuse):
        claims = [replace(claim, is_shown=False, citations=()) for claim in gate.claims]
        for index, (before, after) in enumerate(zip(gate.claims, claims, strict=True)):
            if before.is_shown:
                yield Replace(index, after)
    yield AnswerDone(_answer(gate, action, claims, confidence=confidence, judge=judge))


def abstain(request: AnswerRequest, reason: str, *, judge: Judge) -> Answer:
    """The answer when there is no evidence: nothing is written, a person is asked."""
    return _answer(Gate(request, _unchecked), judge.route(reason), [], confidence=NOTHING, judge=judge)


def refuse(request: AnswerRequest, reason: str, *, judge: Judge) -> Answer:
    """The answer to a question that is not answered at all."""
    return _answer(Gate(request, _unchecked), Refuse(reason), [], confidence=NOTHING, judge=judge)


def passed_on(answer: Answer, *, asked_by: str, is_sent: bool) -> Answer:
    """The answer to a question that goes, or may go, into the inbox, saying so; any other as it is.

    Nobody is sent their own question: what the asker would have to answer goes to the administrator.
    """
    action = answer.action
    if not isinstance(action, Route):
        return answer
    is_own = action.owner_id == asked_by
    if is_own:
        reason = f"{action.reason}; {OWN_TAG.format(tag=action.tag)}"
        action = replace(action, owner_id=None, owner_email=None, reason=reason, fallback=True)
    person = action.owner_email or ("the administrator" if is_own else None)
    if not is_sent:
        return replace(answer, action=action, text=f"{UNANSWERED.format(reason=action.reason)} {NOT_SENT}")
    notice = f"Your question was sent to {person}. The reply will appear under Sent." if person else NOBODY
    return replace(answer, action=action, text=f"{UNANSWERED.format(reason=action.reason)} {notice}")


def with_help(answer: Answer, emergency: Emergency | None) -> Answer:
    """The answer with the way to help before it, where the question tells of an emergency."""
    if emergency is None:
        return answer
    return replace(answer, emergency=emergency, text=f"{emergency.text}\n\n{answer.text}".rstrip())


def with_notices(answer: Answer, library: Notices) -> Answer:
    """The answer with a reservation for what was published since about the documents that it cites."""
    cited = {citation.document_id: citation.document for citation in answer.citations}
    notices = cited_notices(cited, library)
    if not notices or not isinstance(answer.action, Cite | Qualified):
        return answer
    before = answer.action.reason if isinstance(answer.action, Qualified) else ""
    return replace(answer, notices=notices, action=Qualified(with_notices_told(before, notices)))


def _unchecked(_sentence: str, _spans: Sequence[EvidenceSpan]) -> SentenceCheck:
    raise AssertionError("an answer without sentences checks none")


def _confidence(shown: Sequence[Claim], context: Context, judge: Judge) -> Confidence:
    if not context.evidence:
        return NOTHING
    text = " ".join(claim.text for claim in shown)
    similarities = [passage.hit.raw_cosine for passage in context.evidence]
    covered = coverage(text, "\n".join(passage.text for passage in context.evidence))
    rating = judge.rate(text) if shown else None
    return Confidence(
        overall=overall(similarities, covered) if shown else 0.0,
        retrieval=min(1.0, max(0.0, sum(similarities) / len(similarities))),
        coverage=covered,
        llm=rating,
        calibrated=judge.calibrate(shown, context) if shown else 0.0,
    )


def _action(gate: Gate, shown: Sequence[Claim], confidence: Confidence, judge: Judge) -> Action:
    """What becomes of a draft; without a shown, cited sentence it never becomes an answer."""
    unfit = _unfit(gate, confidence)
    if unfit is not None:
        return judge.route(unfit)
    evidence = gate.request.context.evidence
    miss = missed(gate.request.subjects, sections(shown, gate.citations, evidence), evidence)
    policy, chance = gate.request.policy, confidence.calibrated
    is_unsure = policy.sure_from is not None and chance < policy.sure_from
    if miss is not None and miss.is_whole and (policy.sure_from is None or is_unsure):
        return judge.route(miss.reason[0].upper() + miss.reason[1:])
    withheld = [claim.check.verdict.value for claim in gate.claims if not claim.is_shown]
    partly = sum(claim.check.verdict == Verdict.PARTLY for claim in shown)
    reservations = [_reservation(withheld, partly, abstained=gate.abstained, miss=miss, is_unsure=is_unsure)]
    reservation = "; ".join(filter(None, [*reservations, gate.request.frame.reservation]))
    return Qualified(reservation) if reservation else Cite()


def _unfit(gate: Gate, confidence: Confidence) -> str | None:
    """Why a draft cannot be an answer at all."""
    best = max((passage.hit.relevance for passage in gate.request.context.evidence), default=0.0)
    if gate.abstained and not gate.citations:
        return "The documents do not answer this"
    if not gate.citations:
        return (
            "None of the draft could be confirmed in the documents"
            if gate.claims
            else "No answer found in the documents"
        )
    if best < gate.request.policy.min_relevance:
        return "No relevant documents found"
    if confidence.overall < gate.request.policy.threshold:
        return f"Low confidence: {confidence.overall:.0%}"
    return None


def _reservation(
    withheld: Sequence[str], partly: int, *, abstained: bool, miss: Miss | None = None, is_unsure: bool = False
) -> str:
    """Why an answer is shown with a reservation; what was withheld is told by its verdicts.

    >>> _reservation(["not_found"], 2, abstained=False)
    '1 sentence withheld: not found in the sources; 2 sentences only partly supported'
    """
    parts = []
    if withheld:
        parts.append(why_withheld(withheld))
    if partly:
        parts.append(f"{partly} sentence{'s' * (partly > 1)} only partly supported")
    if abstained:
        parts.append("the documents answer only part of the question")
    if miss is not None:
        parts.append(miss.reason)
    if is_unsure:
        parts.append(UNSURE)
    return "; ".join(parts)


def _answer(gate: Gate, action: Action, claims: Sequence[Claim], *, confidence: Confidence, judge: Judge) -> Answer:
    request = gate.request
    return Answer(
        id=request.id,
        question=request.question,
        action=action,
        text=_text(action, claims, gate),
        claims=tuple(claims),
        citations=tuple(gate.citations) if any(claim.is_shown for claim in claims) else (),
        confidence=confidence,
        model=request.model,
        prompt_hash=request.prompt_hash,
        evidence=request.context.evidence,
        left_out=request.context.left_out,
        dropped_citations=gate.dropped,
        took_ms=judge.took_ms(),
        context_tokens=request.context.tokens,
        query=request.query,
        notes=request.notes,
        raw_text=gate.draft() if request.policy.keeps_draft else None,
    )


def _text(action: Action, claims: Sequence[Claim], gate: Gate) -> str:
    if isinstance(action, Route):
        return f"{UNANSWERED.format(reason=action.reason)} Please ask {action.owner_email or 'the administrator'}."
    if isinstance(action, Refuse):
        return action.reason
    frame = gate.request.frame
    marks = {citation.n: frame.mark(citation) for citation in gate.citations}
    shown = [claim.text + "".join(f" {marks[n]}" for n in claim.citations) for claim in claims if claim.is_shown]
    body = "".join(("\n" if text.startswith(tuple(BULLETS)) else frame.gap) + text for text in shown).strip()
    return "\n\n".join(part for part in (frame.before, body, frame.after, frame.closing()) if part)


def why_withheld(verdicts: Iterable[str], *, is_routed: bool = False) -> str:
    """How many sentences were withheld and why, in words.

    >>> why_withheld(["not_found"])
    '1 sentence withheld: not found in the sources'
    >>> why_withheld(["not_found", "contradicted", "not_found"])
    '3 sentences withheld: 1 contradicted by the sources, 2 not found in the sources'
    >>> why_withheld(["supported", "supported"], is_routed=True)
    '2 sentences withheld: withdrawn with the whole answer'
    """
    named = ("routed" if is_routed and verdict == "supported" else str(verdict) for verdict in verdicts)
    counts = Counter(named)
    reasons = [(counts[name], words) for name, words in WHY.items() if counts[name]]
    listed = ", ".join(words if len(reasons) == 1 else f"{count} {words}" for count, words in reasons)
    total = counts.total()
    return f"{total} sentence{'s' * (total > 1)} withheld: {listed}"


# ------------------------------------------------------------------------------------------------ checks of other texts


MAX_CHECKED_CHARACTERS = 50_000
MAX_CHECKED_SENTENCES = 1_000
UNCHECKED = SentenceCheck(
    Verdict.NOT_FOUND,
    ("not checked: the text takes more work than one request may. Send the rest again by itself",),
    None,
    0.0,
    is_vetoed=True,
)
"""What is said of the sentences that were left when the allowance of the request was nearly used up."""
NO_WORDS = SentenceCheck(Verdict.NOT_FOUND, ("there are no words to check",), None, 0.0, is_vetoed=True)

Find = Callable[[str], Sequence[EvidenceSpan]]
"""The words that a sentence should be held against."""


def check(text: str, *, find: Find, verify: Verify) -> list[tuple[str, SentenceCheck]]:
    """Every sentence of a text with its verdict; equal sentences are checked once."""
    if not text.strip():
        raise InputError("There is nothing to check. Enter a sentence or a paragraph.")
    if len(text) > MAX_CHECKED_CHARACTERS:
        raise InputError(f"The text is too long. You can check up to {MAX_CHECKED_CHARACTERS:,} characters at a time.")
    parts = [text[start:end] for start, end in sentences(text)]
    if len(parts) > MAX_CHECKED_SENTENCES:
        raise InputError(f"Too many sentences. You can check up to {MAX_CHECKED_SENTENCES:,} at a time.")
    checks: dict[str, SentenceCheck] = {}
    for part in parts:
        if part not in checks:
            checks[part] = _checked(part, find, verify) if not is_nearly_spent() else UNCHECKED
    return [(part, checks[part]) for part in parts]


def _checked(sentence: str, find: Find, verify: Verify) -> SentenceCheck:
    return verify(sentence, find(sentence)) if any(map(str.isalnum, sentence)) else NO_WORDS


PEOPLE = "the guideline is about people in general, and the record does not say this of this patient"


def of_people(
    verify: Verify, *, is_record: Callable[[EvidenceSpan], bool] = lambda _: False, record: Sequence[EvidenceSpan] = ()
) -> Verify:
    """The same check, in which only words of the record carry what is said of a person; `record` stands beside it."""

    def checked(sentence: str, spans: Sequence[EvidenceSpan]) -> SentenceCheck:
        check = verify(sentence, spans)
        said = of_a_person(sentence)
        if said is None or check.is_vetoed:
            return check
        own = [*record, *(span for span in spans if is_record(span))]
        if verify(said, own).verdict is Verdict.SUPPORTED:
            return check
        return replace(check, verdict=_lowered(check.verdict), reasons=(PEOPLE,), is_vetoed=True)

    return checked


def _lowered(verdict: Verdict) -> Verdict:
    return Verdict.PARTLY if verdict is Verdict.SUPPORTED else verdict
