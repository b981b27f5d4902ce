"""The literature: how an article is named, what an index knows of it, and what became of it since."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from typing import Any, Literal

from citewell.errors import InputError

IdKind = Literal["pmid", "pmcid", "doi"]
NoticeKind = Literal["retraction", "concern", "correction"]
NOTICE_ORDER: tuple[NoticeKind, ...] = ("retraction", "concern", "correction")
"""The gravest first."""
SAID: dict[NoticeKind, str] = {
    "retraction": "“{title}” has been retracted",
    "concern": "an expression of concern about “{title}” has been published",
    "correction": "a correction of “{title}” has been published",
}
MAX_ID_CHARACTERS = 200
NOT_AN_ID = "“{text}” is not a PMID, PMCID or DOI. Write it like 12345678, PMC1234567 or 10.1000/xyz."

_PMID = re.compile(r"(?:pmid:?\s*)?([1-9]\d{0,9})", re.IGNORECASE)
_PMCID = re.compile(r"(?:pmcid:?\s*)?PMC([1-9]\d{0,9})(?:\.\d+)?", re.IGNORECASE)
_DOI = re.compile(r"(?:doi:?\s*)?(10\.\d{4,9}/[^\s\"<>]+)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://(?:dx\.)?(doi\.org/|[\w.]*ncbi\.nlm\.nih\.gov/|europepmc\.org/)(\S+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ArticleId:
    """A PMID, PMCID or DOI as the indexes write it."""

    kind: IdKind
    value: str

    @classmethod
    def parse(cls, text: str) -> ArticleId:
        """The ID that a person typed or copied.

        >>> ArticleId.parse("PMID: 123"), ArticleId.parse("https://doi.org/10.1000/X.1")
        (ArticleId(kind='pmid', value='123'), ArticleId(kind='doi', value='10.1000/x.1'))
        >>> ArticleId.parse("pmc77.2").value, ArticleId.parse("https://pubmed.ncbi.nlm.nih.gov/9/").value
        ('PMC77', '9')
        """
        plain = text.strip()
        if address := _ADDRESS.fullmatch(plain):
            path = address[2].rstrip("/")
            plain = path if address[1].lower().startswith("doi") else path.rpartition("/")[2]
        if len(plain) <= MAX_ID_CHARACTERS:
            if match := _PMID.fullmatch(plain):
                return cls("pmid", match[1])
            if match := _PMCID.fullmatch(plain):
                return cls("pmcid", f"PMC{match[1]}")
            if match := _DOI.fullmatch(plain):
                return cls("doi", match[1].lower())
        raise InputError(NOT_AN_ID.format(text=plain[:60]))

    @property
    def label(self) -> str:
        """How it is called in a message."""
        return (
            f"PMID {self.value}" if self.kind == "pmid" else f"DOI {self.value}" if self.kind == "doi" else self.value
        )


@dataclass(frozen=True, slots=True)
class Notice:
    """What was published about an article after it: that it was retracted, is in doubt, or was corrected."""

    kind: NoticeKind
    where: str = ""
    """Where that stands, as the index says it."""
    pmid: str | None = None


@dataclass(frozen=True, slots=True)
class CitedNotice:
    """A notice about a document that an answer cites."""

    document_id: str
    document: str
    kind: NoticeKind
    where: str
    pmid: str | None

    @classmethod
    def of(cls, document_id: str, title: str, notice: Notice) -> CitedNotice:
        return cls(document_id, title, notice.kind, notice.where, notice.pmid)

    @property
    def text(self) -> str:
        """What a reader is told.

        >>> CitedNotice("d1", "Zinc", "retraction", "J Zinc. 2025;1:2", "9").text
        '“Zinc” has been retracted (J Zinc. 2025;1:2)'
        """
        said = SAID[self.kind].format(title=self.document)
        return f"{said} ({self.where.rstrip('.')})" if self.where else said

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "text": self.text}


def notices_reason(notices: tuple[CitedNotice, ...]) -> str:
    """Why an answer is shown with a reservation: each thing once, the gravest first."""
    ordered = sorted(notices, key=lambda notice: NOTICE_ORDER.index(notice.kind))
    return "; ".join(dict.fromkeys(notice.text for notice in ordered))


@dataclass(frozen=True, slots=True)
class Article:
    """What an index knows of an article."""

    title: str
    authors: tuple[str, ...] = ()
    journal: str = ""
    volume: str = ""
    issue: str = ""
    pages: str = ""
    published: date | None = None
    abstract: tuple[tuple[str, str], ...] = ()
    """Paragraphs, each under its heading if it has one."""
    language: str | None = None
    publisher: str = ""
    url: str = ""
    pmid: str | None = None
    pmcid: str | None = None
    doi: str | None = None
    isbn: str = ""
    notices: tuple[Notice, ...] = ()

    @property
    def ids(self) -> tuple[ArticleId, ...]:
        """Its IDs, the surest first."""
        known: tuple[tuple[IdKind, str | None], ...] = (("pmid", self.pmid), ("pmcid", self.pmcid), ("doi", self.doi))
        return tuple(ArticleId(kind, value) for kind, value in known if value)

    @property
    def name(self) -> str:
        """The name of its file."""
        best = next(iter(self.ids), None)
        return f"{best.value.replace('/', '_') if best else ' '.join(self.title.split()[:8])}.nxml"

    def with_ids_of(self, other: Article) -> Article:
        """The same with the IDs that only the other record has."""
        return replace(self, pmid=self.pmid or other.pmid, pmcid=self.pmcid or other.pmcid, doi=self.doi or other.doi)


SourceName = Literal["pubmed", "europepmc"]


@dataclass(frozen=True, slots=True)
class SearchedArticles:
    """The newest articles that a query finds, and how many there are in all."""

    total: int
    articles: tuple[Article, ...]


_NAME = re.compile(r"[\w][\w .-]{0,63}")
MOST_ARTICLES = 1_000
MAX_QUERY_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document that a run of a query brought."""

    document_id: str
    title: str


@dataclass(frozen=True, slots=True)
class QueryRun:
    """What the last run of a query brought."""

    at: datetime
    total: int
    """Articles that the index has for the query."""
    new: tuple[NewDocument, ...] = ()
    failed: tuple[tuple[str, str], ...] = ()
    """Articles that could not be added, each with the reason."""
    error: str | None = None
    """Why the query itself could not be run."""


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """A query that is run again and again; what is new comes into the library."""

    tenant: str
    name: str
    source: SourceName
    query: str
    most: int = 100
    """Articles that one run looks at, the newest first."""
    tags: tuple[str, ...] = ()
    journeys: tuple[str, ...] = ()
    saved_by: str = ""
    last: QueryRun | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name != self.name.strip():
            raise InputError("Name the query with up to 64 letters, digits, spaces, dots and hyphens.")
        if not self.query.strip() or len(self.query) > MAX_QUERY_CHARACTERS:
            raise InputError(f"Enter a query of up to {MAX_QUERY_CHARACTERS:,} characters.")
        if not 1 <= self.most <= MOST_ARTICLES:
            raise InputError(f"A run can look at 1 to {MOST_ARTICLES:,} articles.")
