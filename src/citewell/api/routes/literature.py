"""/api/v1/literature and /api/v1/queries: articles by their IDs, from files, and by saved queries."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from citewell.answer.references import REFERENCE_FORMATS, ReferenceFormatName
from citewell.api import literature as changes
from citewell.api.bodies.literature import (
    AddArticlesRequest,
    ArticleOutcomesResponse,
    FoundArticlesResponse,
    QueriesResponse,
    QueryGoneResponse,
    QueryText,
    SaveQueryRequest,
    ZoteroRequest,
)
from citewell.api.literature import filing, literature
from citewell.api.request_checks import our_request
from citewell.api.routes.documents import UPLOAD, disposition
from citewell.api.server_state import Here
from citewell.api.uploads import files_of
from citewell.api.visitor import Editor, Governor, Reader
from citewell.operations.literature import article_json, outcomes_json
from citewell.types.literature import MAX_ID_CHARACTERS, SavedQuery, SourceName

router = APIRouter(prefix="/api/v1")

Named = Annotated[str, Path(max_length=MAX_ID_CHARACTERS)]


@router.post("/literature", response_model=ArticleOutcomesResponse, dependencies=[Depends(our_request)])
def add(site: Here, visitor: Editor, asked: AddArticlesRequest) -> dict[str, Any]:
    """Add articles by PMID, PMCID or DOI: the full text where it is open access, else the abstract."""
    filed = filing(site, visitor, asked.tags, asked.journeys)
    with literature(site, visitor) as fetching:
        return outcomes_json(fetching.add(asked.ids, filing=filed, is_fresh=asked.refresh))


@router.get("/literature/search", response_model=FoundArticlesResponse)
def search(
    site: Here,
    visitor: Editor,
    query: Annotated[QueryText, Query()],
    source: SourceName | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> dict[str, Any]:
    """The newest articles that a query finds, in the index's own language; nothing is added."""
    with literature(site, visitor) as fetching:
        found = fetching.search(query, source=source, limit=limit)
        known = fetching.known(found.articles)
    return {"total": found.total, "articles": [article_json(one, known.get(one)) for one in found.articles]}


@router.post("/literature/import", response_model=ArticleOutcomesResponse, openapi_extra={"requestBody": UPLOAD})
async def import_files(request: Request, site: Here, visitor: Editor) -> dict[str, Any]:
    """Add the references of RIS, BibTeX and CSL-JSON files and of Zotero libraries."""
    async with files_of(request, site) as (sources, fields):

        def taken() -> dict[str, Any]:
            filed = filing(site, visitor, fields["tags"], fields["journeys"])
            with literature(site, visitor) as fetching:
                return outcomes_json(fetching.add_files(sources, filing=filed))

        return await run_in_threadpool(taken)


@router.post("/literature/zotero", response_model=ArticleOutcomesResponse, dependencies=[Depends(our_request)])
def zotero(site: Here, visitor: Editor, asked: ZoteroRequest) -> dict[str, Any]:
    """Add the references of a library or collection of Zotero's web API."""
    filed = filing(site, visitor, asked.tags, asked.journeys)
    with literature(site, visitor) as fetching:
        return outcomes_json(fetching.add_references(fetching.zotero(asked.library, asked.collection), filing=filed))


@router.get(
    "/literature/references",
    response_class=Response,
    responses={HTTPStatus.OK: {"content": {known.media_type: {} for known in REFERENCE_FORMATS.values()}}},
)
def references(site: Here, visitor: Reader, format: ReferenceFormatName = ReferenceFormatName.RIS) -> Response:
    """All documents in use, as a file for reference managers: RIS, BibTeX or CSL-JSON."""
    chosen = REFERENCE_FORMATS[format]
    headers = {"Content-Disposition": disposition(f"library.{chosen.extension}")}
    return Response(
        chosen.write(site.app.library_references(visitor.whole)), media_type=chosen.media_type, headers=headers
    )


@router.get("/queries", response_model=QueriesResponse)
def queries(site: Here, visitor: Governor) -> dict[str, Any]:
    """The saved queries, with what their last run brought."""
    return {"queries": site.app.literature.saved(visitor.tenant)}


@router.post("/queries", status_code=HTTPStatus.CREATED, dependencies=[Depends(our_request)])
def save(site: Here, visitor: Governor, asked: SaveQueryRequest) -> SavedQuery:
    """Save a query, or change the one of this name; it runs at once, and then every day."""
    return changes.save(site, visitor, asked)


@router.delete("/queries/{name}", response_model=QueryGoneResponse, dependencies=[Depends(our_request)])
def remove(site: Here, visitor: Governor, name: Named) -> dict[str, Any]:
    """Remove a saved query; the articles that it brought stay."""
    site.app.literature.remove(site.app.literature.one(visitor.tenant, name))
    return {"name": name, "done": "removed"}


@router.post(
    "/queries/{name}/run",
    status_code=HTTPStatus.ACCEPTED,
    response_model=QueryGoneResponse,
    dependencies=[Depends(our_request)],
)
def run(site: Here, visitor: Governor, name: Named) -> dict[str, Any]:
    """Run a saved query now, beside other work; the list says what it brought."""
    changes.run(site, visitor, name)
    return {"name": name, "done": "queued"}
