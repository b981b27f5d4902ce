"""The nouns, in the order data flows: Source, Document, Chunk, Scope, Hit, Evidence, Claim, Answer."""

from __future__ import annotations

import uuid
from array import array
from bisect import bisect_right
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Literal

from citewell.errors import InputError

# ---------------------------------------------------------------------------------------------------------- writing


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes to read, with the name a person knows them by."""

    data: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one file may ask of the machine."""

    max_bytes: int = 100 * 1024 * 1024
    max_pages: int = 1_500
    max_characters: int = 20_000_000
    max_unpacked_bytes: int = 400 * 1024 * 1024


BlockKind = Literal["heading", "paragraph", "list_item", "table_row", "caption", "box", "footnote", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """One paragraph-like piece of the canonical text."""

    kind: BlockKind
    start: int
    end: int
    section: tuple[str, ...] = ()
    """Titles of the sections round it, outermost first; a heading's own title is the last one."""
    page: int | None = None
    """1-based page on which it starts; None where the format has no pages."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its part of the canonical text and its size in points."""

    number: int
    start: int
    end: int
    width: float
    height: float
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page, in points from the top left corner."""

    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Line:
    """A run of characters set on one line of a page: character `start + i` spans `lefts[i]` to `rights[i]`."""

    start: int
    page: int
    top: float
    bottom: float
    lefts: array[float]
    rights: array[float]

    @property
    def end(self) -> int:
        return self.start + len(self.lefts)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where each character of a paged document stands; lines are sorted by `start` and do not overlap."""

    pages: tuple[Page, ...] = ()
    lines: tuple[Line, ...] = ()

    def boxes(self, start: int, end: int) -> list[Box]:
        """One box per line touched by the span; characters that stand nowhere on the page have none."""
        found = []
        first = max(0, bisect_right(self.lines, start, key=lambda line: line.start) - 1)
        for line in self.lines[first:]:
            if line.start >= end:
                break
            low, high = max(start - line.start, 0), min(end, line.end) - line.start
            if low < high:
                left, right = min(line.lefts[low:high]), max(line.rights[low:high])
                found.append(Box(line.page, left, line.top, right, line.bottom))
        return found

    def page_at(self, offset: int) -> int | None:
        """The page that holds the character at `offset`, or None without pages."""
        position = bisect_right(self.pages, offset, key=lambda page: page.start) - 1
        return self.pages[position].number if position >= 0 else None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a document says about itself; unknown is None."""

    language: str | None = None
    publisher: str | None = None
    published: date | None = None
    licence: str | None = None
    source_url: str | None = None
    identifiers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed file: one canonical text, and what every part of it is."""

    title: str
    media_type: str
    text: str
    blocks: tuple[Block, ...]
    layout: Layout = field(default_factory=Layout)
    metadata: Metadata = field(default_factory=Metadata)
    notes: tuple[str, ...] = ()
    """What the reader should know of how it was read, such as “pages 3–4 were read by OCR”."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage that is ranked as one: `text` is exactly `document.text[start:end]`."""

    index: int
    start: int
    end: int
    text: str
    section: tuple[str, ...]
    page: int | None
    tokens: int
    """Tokens of `passage`, what is embedded: section path, overlap and text."""
    sentences: tuple[tuple[int, int], ...]
    """Offsets of its sentences in the canonical text, overlap included."""

    @property
    def passage(self) -> str:
        """The text that is embedded: the section path, then the words."""
        return f"{' > '.join(self.section)}\n{self.text}" if self.section else self.text


# -------------------------------------------------------------------------------------------------------- the shelf

EVERY = "*"
"""In a scope: no restriction. Not a legal tag, journey or subject, so no document can carry it."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Who is asking, decided before anything is ranked; every field must be said.

    A document is visible when its tenant is the same, it is tagged `public` or shares a tag, it is universal or in the
    journey, and it has no subject or the same one.

    >>> Scope.owner("clinic").tags == frozenset({EVERY})
    True
    """

    tenant: str
    tags: frozenset[str]
    journey: str | None
    subject: str | None

    @classmethod
    def owner(cls, tenant: str) -> Scope:
        """All that a tenant has: for the person who keeps the library."""
        return cls(tenant, frozenset({EVERY}), EVERY, EVERY)


class Role(StrEnum):
    """What a user may do: read, ask, add documents, or everything."""

    READER = "reader"
    MEMBER = "member"
    EDITOR = "editor"
    ADMIN = "admin"


OWNER_ID = "owner"
"""The person at the machine who keeps the library; ids of users are UUIDs, so no user can have this one."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, and what they may see.

    >>> Asker.owner(Scope.owner("clinic")).is_admin
    True
    """

    user_id: str
    role: Role
    scope: Scope

    @classmethod
    def owner(cls, scope: Scope) -> Asker:
        """The person who keeps the library."""
        return cls(OWNER_ID, Role.ADMIN, scope)

    @property
    def tenant(self) -> str:
        return self.scope.tenant

    @property
    def is_admin(self) -> bool:
        return self.role is Role.ADMIN

    @property
    def may_ask(self) -> bool:
        return self.role is not Role.READER


class State(StrEnum):
    """Where a document is in its life."""

    PENDING = "pending"
    QUEUED = "queued"
    PROCESSING = "processing"
    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


MAX_CHUNK = 8_000


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a document is cut; `size` and `overlap` are in `unit`."""

    strategy: Literal["sections", "characters", "headings"]
    size: int
    overlap: int
    unit: Literal["tokens", "characters"]

    def __post_init__(self) -> None:
        if (self.unit == "characters") != (self.strategy == "characters"):
            raise InputError("Sections and headings are measured in tokens, characters in characters.")
        if not 50 <= self.size <= MAX_CHUNK or not 0 <= 2 * self.overlap <= self.size:
            raise InputError(f"A passage has 50 to {MAX_CHUNK:,} units, and neighbours share at most half of one.")


@dataclass(frozen=True, slots=True)
class Filing:
    """Where a document belongs, as said by the person who adds it.

    What is not said (None) is as it was in the version before; else public, for all journeys, about nobody.
    """

    tags: frozenset[str] | None = None
    journeys: frozenset[str] | None = None
    """Empty: universal."""
    subject: str | None = None
    title: str | None = None
    replaces: str | None = None
    """The id of the document that this one is the next version of."""
    chunking: Chunking | None = None
    added_by: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One document version as the library lists it."""

    id: str
    tenant: str
    lineage: str
    version: int
    name: str
    title: str
    media_type: str
    state: State
    is_current: bool
    content_hash: str
    size_bytes: int
    tags: tuple[str, ...]
    journeys: tuple[str, ...]
    subject: str | None
    page_count: int
    chunk_count: int
    sentence_count: int
    chunking: Chunking
    embedder: str | None
    metadata: Metadata
    notes: tuple[str, ...]
    error: str | None
    added_at: datetime
    added_by: str | None
    processed_at: datetime | None
    took_s: float | None


CHUNK_NAMESPACE = uuid.UUID("6ba7b810-9dad-11d1-80b4-00c04fd430c8")


def source_id(document_id: str, chunk_index: int) -> str:
    """The name that a citation carries.

    >>> source_id("550e8400-e29b-41d4-a716-446655440000", 3)
    '550e8400-e29b-41d4-a716-446655440000:3'
    """
    return f"{document_id}:{chunk_index}"


def chunk_id(document_id: str, chunk_index: int) -> str:
    """A chunk's own stable id.

    >>> chunk_id("550e8400-e29b-41d4-a716-446655440000", 0)
    '94a95541-fb48-5918-9a19-2a9e3932b380'
    """
    return str(uuid.uuid5(CHUNK_NAMESPACE, source_id(document_id, chunk_index)))


# ---------------------------------------------------------------------------------------------------------- reading


Near = tuple[int, int, float]
"""Offsets of a sentence, and its cosine with the question."""


@dataclass(frozen=True, slots=True)
class Why:
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
    why: Why

    @property
    def source_id(self) -> str:
        return source_id(self.document_id, self.chunk_index)


# -------------------------------------------------------------------------------------------------------- answering


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["user", "assistant"]
    text: str


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
class Span:
    """Words of a document that a sentence may rest on."""

    source_id: str
    start: int
    end: int
    text: str
    """Exactly the document's words from `start` to `end`."""


@dataclass(frozen=True, slots=True)
class Check:
    """What became of checking one sentence."""

    verdict: Verdict
    reasons: tuple[str, ...]
    """Plain words, such as “50 mg is not in the source, which says 5 mg”."""
    span: Span | None
    """The words that decided."""
    support: float
    """How well the words carry the sentence, in [0, 1]."""
    is_vetoed: bool = False
    """A number, a name or a denial in it is not what the words say: no answer shows it, however alike the rest."""


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


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer, checked."""

    text: str
    check: Check
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
class Qualify:
    """Shown with a reservation."""

    reason: str


@dataclass(frozen=True, slots=True)
class Route:
    """Handed to a person."""

    tag: str
    owner_id: str | None
    owner_email: str | None
    reason: str
    is_fallback: bool
    """No owner was found: it goes to the administrator."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Not answered, and nobody is asked."""

    reason: str


Action = Cite | Qualify | Route | Refuse


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question got. Only `answer.finish` makes one."""

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
