"""From a hit to an answer: Hit, Evidence, Context, Check, Citation, Claim, Answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any, Literal

from citewell.errors import InputError
from citewell.types.library import chunk_id, source_id
from citewell.types.literature import CitedNotice


@dataclass(frozen=True, slots=True)
class Emergency:
    """What may be happening, and the words that come before everything else."""

    kinds: tuple[str, ...]
    language: Literal["en", "fr", "de"]
    text: str
    """The way to help."""
    words: tuple[str, ...] = ()
    """The words that tell of it; empty where only the sense of the whole does."""


Near = tuple[int, int, float]
"""Offsets of a sentence, and its cosine with the question."""

MAX_CHUNKS = 50
"""The most passages that one question may ask for."""


@dataclass(frozen=True, slots=True)
class MatchReason:
    """Why a passage was found."""

    dense_rank: int | None
    lexical_rank: int | None
    matched_terms: tuple[str, ...]
    """Words of the question, or added to it, that the passage holds."""
    best_sentence: tuple[int, int] | None
    """Offsets of the sentence nearest to the question."""
    near: tuple[Near, ...] = ()
    """All of its sentences, as they are written."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found, with its place and the reasons."""

    document_id: str
    document: str
    version: int
    chunk_index: int
    start: int
    end: int
    text: str
    page: int | None
    section: tuple[str, ...]
    tags: tuple[str, ...]
    raw_cosine: float
    """Cosine of question and passage, in [-1, 1]."""
    rank_score: float
    """What the order follows; comparable within one search only."""
    relevance: float
    """Calibrated probability in [0, 1] that the passage is about the question."""
    why: MatchReason
    publisher: str | None = None
    published: date | None = None
    """The date of its document, where that has one."""
    is_calibrated: bool = True
    """Whether the relevance was calibrated for the embedder that found it; if not, it tells of shared words alone."""
    is_suspicious: bool = False
    """Whether something of it reads like an order to whoever answers; blanks stand in the place of that."""

    @property
    def source_id(self) -> str:
        return source_id(self.document_id, self.chunk_index)

    @property
    def chunk_id(self) -> str:
        return chunk_id(self.document_id, self.chunk_index)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, of the person or of the assistant; rules are no turn, so nobody can slip one in."""

    role: Literal["user", "assistant"]
    text: str

    def __post_init__(self) -> None:
        if self.role not in ("user", "assistant"):
            raise InputError("Unknown role in the conversation. Each turn must be from the user or the assistant.")


@dataclass(frozen=True, slots=True)
class AskOptions:
    """The options of one question: another model of the same server, how many passages to rest on; None is as set."""

    model: str | None = None
    max_context_chunks: int | None = None

    def __post_init__(self) -> None:
        if self.model is not None and not self.model.strip():
            raise InputError("The model name is empty. Give a model name, or leave it out.")
        if self.max_context_chunks is not None and not 1 <= self.max_context_chunks <= MAX_CHUNKS:
            raise InputError(f"An answer can draw on 1 to {MAX_CHUNKS} passages.")

    @classmethod
    def of(cls, recorded: Mapping[str, Any] | None) -> AskOptions:
        """The options in a record; an older record holds none.

        >>> options = AskOptions("qwen3:8b", 3)
        >>> AskOptions.of(options.as_record()) == options, AskOptions.of(None) == NO_OPTIONS
        (True, True)
        """
        return cls(**recorded) if recorded else cls()

    def as_record(self) -> dict[str, Any]:
        """The options as a record holds them."""
        return asdict(self)


NO_OPTIONS = AskOptions()


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage as the model sees it: a number, and the part of its text that fits."""

    number: int
    hit: Hit
    start: int
    end: int
    is_suspicious: bool = False
    """The text reads like an instruction to the model."""

    @property
    def text(self) -> str:
        return self.hit.text[self.start - self.hit.start : self.end - self.hit.start]

    @property
    def alias(self) -> str:
        return f"S{self.number}"

    @property
    def is_shortened(self) -> bool:
        """Whether the passage goes on where the model no longer reads."""
        return (self.start, self.end) != (self.hit.start, self.hit.end)


@dataclass(frozen=True, slots=True)
class Context:
    """What fits into the window: the history, newest last, and the best evidence."""

    evidence: tuple[Evidence, ...]
    history: tuple[Message, ...] = ()
    left_out: int = 0
    """Passages that were found but not shown to the model."""
    tokens: int = 0


class Verdict(StrEnum):
    """What the cited words say of a sentence."""

    SUPPORTED = "supported"
    PARTLY = "partly"
    CONTRADICTED = "contradicted"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class EvidenceSpan:
    """Words of a document that a sentence may rest on."""

    source_id: str
    start: int
    end: int
    text: str
    """Exactly the document's words from `start` to `end`."""
    titles: tuple[str, ...] = ()
    """Of the document and of the sections round it: what the words speak of where they do not say so themselves."""


@dataclass(frozen=True, slots=True)
class SentenceCheck:
    """What became of checking one sentence."""

    verdict: Verdict
    reasons: tuple[str, ...]
    """Plain words, such as “50 mg is not in the source, which says 5 mg”."""
    span: EvidenceSpan | None
    """The words that decided."""
    support: float
    """How well the words carry the sentence, in [0, 1]."""
    is_vetoed: bool = False
    """A number, a name or a denial in it is not what the words say: no answer shows it, however alike the rest."""
    beside: tuple[EvidenceSpan, ...] = ()
    """The words that decided with them, where they say what those leave out."""

    @property
    def spans(self) -> tuple[EvidenceSpan, ...]:
        """All the words that decided, as they stand: those of the first one's passage before others."""
        if self.span is None:
            return ()
        first, every = self.span.source_id, (self.span, *self.beside)
        return tuple(sorted(every, key=lambda span: (span.source_id != first, span.source_id, span.start)))


@dataclass(frozen=True, slots=True)
class Citation:
    """The exact words that a sentence rests on."""

    n: int
    source_id: str
    document_id: str
    document: str
    version: int
    chunk_index: int
    page: int | None
    section: tuple[str, ...]
    start: int
    end: int
    quote: str
    relevance: float
    published: date | None = None
    """The date of the document; what a model says of it counts for nothing."""
    before: str = ""
    after: str = ""
    """The words of its passage before and after it."""

    @property
    def chunk_id(self) -> str:
        return chunk_id(self.document_id, self.chunk_index)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer, checked."""

    text: str
    check: SentenceCheck
    citations: tuple[int, ...]
    """Numbers of the citations it rests on."""
    is_shown: bool


@dataclass(frozen=True, slots=True)
class Confidence:
    """How far an answer can be trusted, in [0, 1]; a view may show it otherwise."""

    overall: float
    retrieval: float
    coverage: float
    llm: float | None
    """The model's own estimate; None where it gave none, and the other signals stand in."""
    calibrated: float
    """The probability that the shown sentences are supported."""


@dataclass(frozen=True, slots=True)
class Cite:
    """Every shown sentence is supported."""


@dataclass(frozen=True, slots=True)
class Qualified:
    """Shown with a reservation."""

    reason: str


@dataclass(frozen=True, slots=True)
class Route:
    """Handed to a person."""

    tag: str
    owner_id: str | None
    owner_email: str | None
    reason: str
    fallback: bool
    """No owner was found: it goes to the administrator."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not answered, and nobody is asked."""

    reason: str


Action = Cite | Qualified | Route | Refuse


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question got. Only `answer.gate` makes one."""

    id: str
    question: str
    action: Action
    text: str
    """What is shown: sentences with their citation marks, or why there are none."""
    claims: tuple[Claim, ...]
    citations: tuple[Citation, ...]
    confidence: Confidence
    model: str
    prompt_hash: str
    evidence: tuple[Evidence, ...]
    left_out: int
    dropped_citations: int
    """Marks of the model that named nothing it had been shown."""
    took_ms: float
    context_tokens: int = 0
    """What rules, question, history and passages took of the window."""
    query: str = ""
    """What was searched for: the question as it stands on its own, after what was said before; empty if nothing was."""
    notes: Mapping[str, Any] = field(default_factory=dict)
    """How the assistant came to it, where it tells: for programs and the record."""
    raw_text: str | None = None
    """The draft as it was written, marks and all, where the assistant's policy keeps it; `withheld` says for whom."""
    emergency: Emergency | None = None
    """What the question tells of that cannot wait; its text stands first in `text`."""
    notices: tuple[CitedNotice, ...] = ()
    """What was published since about the documents that it cites: retractions, doubts, corrections."""

    @property
    def suspicious(self) -> tuple[str, ...]:
        """The documents of which a passage near to the question reads like an order; that part of it is left out."""
        used = [evidence.hit.document for evidence in self.evidence if evidence.is_suspicious]
        return tuple(dict.fromkeys([*used, *self.notes.get("suspicious", ())]))

    @property
    def shortened(self) -> int:
        """Passages of which only the beginning was shown to the model."""
        return sum(evidence.is_shortened for evidence in self.evidence)

    @property
    def is_grounded(self) -> bool:
        """Whether it cites anything; what is handed to a person or refused shows nothing, and cites nothing."""
        return bool(self.citations)
