"""Articles from PubMed, Europe PMC and reference managers."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, StrictBool

from citewell.api.bodies.base import SEEN, Name, RequestBody, ResponseBody
from citewell.api.bodies.documents import AnyCaseTag
from citewell.api.bodies.journeys import Slug
from citewell.operations.literature import State
from citewell.types.literature import (
    MAX_ID_CHARACTERS,
    MAX_QUERY_CHARACTERS,
    MOST_ARTICLES,
    Notice,
    SavedQuery,
    SourceName,
)

MOST_IDS = 50
"""Articles that one request may ask for."""
ArticleIdText = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS + 100, pattern=SEEN)]
QueryText = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARACTERS, pattern=SEEN)]
FiledTags = Annotated[list[AnyCaseTag] | None, Field(min_length=1, max_length=64)]
FiledJourneys = Annotated[list[Slug] | None, Field(max_length=64)]


class AddArticlesRequest(RequestBody):
    """Articles to add, by PMID, PMCID or DOI."""

    ids: Annotated[list[ArticleIdText], Field(min_length=1, max_length=MOST_IDS)]
    tags: FiledTags = None
    journeys: FiledJourneys = None
    refresh: StrictBool = Field(default=False, description="Fetch again what is here.")


class ZoteroRequest(RequestBody):
    """A library of Zotero's web API."""

    library: Annotated[str, Field(pattern=r"^(users|groups)/[0-9]{1,12}$")]
    collection: Annotated[str | None, Field(pattern=r"^[A-Z0-9]{8}$")] = None
    tags: FiledTags = None
    journeys: FiledJourneys = None


class ArticleOutcomeResponse(ResponseBody):
    """What became of one article."""

    asked: str
    state: State
    detail: str
    document_id: str | None
    title: str | None
    is_full_text: bool | None
    notices: list[Notice]
    kind: str | None
    """The kind of error where it failed."""


class ArticleOutcomesResponse(ResponseBody):
    """What became of each article."""

    articles: list[ArticleOutcomeResponse]
    failed: int


class FoundArticleResponse(ResponseBody):
    """An article that a query found."""

    id: str | None
    title: str
    authors: list[str]
    journal: str
    published: date | None
    pmid: str | None
    pmcid: str | None
    doi: str | None
    notices: list[Notice]
    document_id: str | None
    """The document that it is here already."""


class FoundArticlesResponse(ResponseBody):
    """The newest articles that a query found."""

    total: int
    articles: list[FoundArticleResponse]


class SaveQueryRequest(RequestBody):
    """A query that is run again and again."""

    name: Name
    query: QueryText
    source: SourceName | None = None
    """The first that is allowed unless one is named."""
    most: Annotated[int, Field(ge=1, le=MOST_ARTICLES)] = 100
    tags: FiledTags = None
    journeys: FiledJourneys = None


class QueriesResponse(ResponseBody):
    """The saved queries, with what their last run brought."""

    queries: list[SavedQuery]


class QueryGoneResponse(ResponseBody):
    """A query that was removed, or that will run at once."""

    name: str
    done: Literal["removed", "queued"]
