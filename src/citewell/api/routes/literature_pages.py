"""The page of the literature: add articles by ID, from a search or from files, and saved queries."""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request, Response
from fastapi.responses import RedirectResponse
from starlette.concurrency import run_in_threadpool

from citewell.api import literature as changes
from citewell.api.bodies.literature import MOST_IDS, SaveQueryRequest
from citewell.api.problems import problem_of
from citewell.api.request_checks import require_our_form
from citewell.api.server_state import Here, ServerState
from citewell.api.uploads import files_of
from citewell.api.visitor import Editor, Governor, Visitor
from citewell.errors import CitewellError, InputError
from citewell.operations.literature import article_json
from citewell.types.literature import MAX_QUERY_CHARACTERS, SourceName

router = APIRouter(prefix="/literature")

Csrf = Annotated[str, Form()]
Text = Annotated[str, Form(max_length=4_000)]
Ids = Annotated[list[str] | None, Form(alias="id")]
Words = Annotated[str, Query(max_length=MAX_QUERY_CHARACTERS)]
FOUND_SHOWN = 20


@router.get("")
def page(site: Here, visitor: Editor, query: Words = "", source: SourceName | None = None) -> Response:
    """The ways to add articles; with a query, what it finds."""
    if not query.strip():
        return _page(site, visitor)
    try:
        with changes.literature(site, visitor) as fetching:
            found = fetching.search(query, source=source, limit=FOUND_SHOWN)
            known = fetching.known(found.articles)
    except CitewellError as error:
        return _page(site, visitor, problem=error, query=query, source=source)
    articles = [article_json(article, known.get(article)) for article in found.articles]
    return _page(site, visitor, query=query, source=source, articles=articles, total=found.total)


def _page(site: ServerState, visitor: Visitor, *, problem: CitewellError | None = None, **values: Any) -> Response:
    told = None if problem is None else problem_of(problem)
    unused: dict[str, Any] = {"query": "", "source": None, "articles": None, "total": 0, "outcomes": None, "typed": {}}
    queries = site.app.literature.saved(visitor.tenant) if visitor.may("govern") else ()
    allowed = [name for name in site.app.settings.literature if name != "zotero"]
    common = {"problem": told, "queries": queries, "allowed": allowed, "hours": site.app.settings.literature_hours}
    response = site.page("literature.html", visitor, nav="library", **(unused | common | values))
    if told is not None:
        response.status_code = told.status
    return response


@router.post("")
def add(
    *,
    request: Request,
    site: Here,
    visitor: Editor,
    ids: Text = "",
    chosen: Ids = None,
    tags: Text = "",
    journeys: Text = "",
    csrf: Csrf = "",
) -> Response:
    """Add articles by their IDs, typed or ticked."""
    require_our_form(request, csrf)
    typed = {"ids": ids, "tags": tags, "journeys": journeys}
    asked = [*(chosen or ()), *_lines(ids)]
    try:
        if not asked:
            raise InputError("Enter a PMID, PMCID or DOI first.")
        if len(asked) > MOST_IDS:
            raise InputError(f"Enter up to {MOST_IDS} IDs at a time.")
        filed = changes.filing(site, visitor, _words(tags), _words(journeys))
        with changes.literature(site, visitor) as fetching:
            outcomes = list(fetching.add(asked, filing=filed))
    except CitewellError as error:
        return _page(site, visitor, problem=error, typed=typed)
    return _page(site, visitor, outcomes=outcomes)


@router.post("/import")
async def import_files(request: Request, site: Here, visitor: Editor) -> Response:
    """Add the references of files."""
    async with files_of(request, site) as (sources, fields):

        def taken() -> Response:
            try:
                filed = changes.filing(site, visitor, fields["tags"], fields["journeys"])
                with changes.literature(site, visitor) as fetching:
                    return _page(site, visitor, outcomes=list(fetching.add_files(sources, filing=filed)))
            except CitewellError as error:
                return _page(site, visitor, problem=error)

        return await run_in_threadpool(taken)


@router.post("/queries")
def save(
    *,
    request: Request,
    site: Here,
    visitor: Governor,
    name: Text = "",
    query: Text = "",
    source: Text = "",
    tags: Text = "",
    journeys: Text = "",
    csrf: Csrf = "",
) -> Response:
    """Save a query, which runs at once and then every day."""
    require_our_form(request, csrf)
    given = {"name": name.strip(), "query": query.strip(), "source": source or None}
    filed = {"tags": _words(tags) or None, "journeys": _words(journeys) or None}
    try:
        if not given["name"] or not given["query"]:
            raise InputError("Enter a name and a query first.")
        changes.save(site, visitor, SaveQueryRequest.model_validate({**given, **filed}))
    except ValueError:
        return _page(site, visitor, problem=InputError("Check the name, query, tags and journeys of the query."))
    except CitewellError as error:
        return _page(site, visitor, problem=error)
    return RedirectResponse("/literature#queries", status_code=HTTPStatus.SEE_OTHER)


@router.post("/queries/run")
def run(request: Request, site: Here, visitor: Governor, name: Text = "", csrf: Csrf = "") -> Response:
    """Run a saved query beside other work."""
    require_our_form(request, csrf)
    changes.run(site, visitor, name)
    return RedirectResponse("/literature#queries", status_code=HTTPStatus.SEE_OTHER)


@router.post("/queries/remove")
def remove(request: Request, site: Here, visitor: Governor, name: Text = "", csrf: Csrf = "") -> Response:
    """Remove a saved query; the articles that it brought stay."""
    require_our_form(request, csrf)
    site.app.literature.remove(site.app.literature.one(visitor.tenant, name))
    return RedirectResponse("/literature#queries", status_code=HTTPStatus.SEE_OTHER)


def _lines(text: str) -> list[str]:
    """IDs as a person types them: a line each, or with spaces or commas between them.

    >>> _lines("123, PMC4\\n10.1000/a PMID: 5 ")
    ['123', 'PMC4', '10.1000/a', '5']
    """
    words = text.replace(",", " ").replace(";", " ").split()
    return [word for word in words if word.rstrip(":").lower() not in ("pmid", "pmcid", "doi")]


def _words(text: str) -> list[str]:
    return text.replace(",", " ").split()
