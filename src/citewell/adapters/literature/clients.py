"""PubMed and Europe PMC over HTTP: slowly, again after a while where that may help, and never more than was allowed."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx

from citewell.adapters.literature.records import europepmc_article, full_text, pubmed_articles
from citewell.adapters.literature.reference_files import csl_references
from citewell.adapters.remote import RETRY_AFTER_S, TransientFailure, is_local, is_safe, spread
from citewell.errors import CitewellError, DamagedFile, InputError, NotFound, TooLarge, Unavailable
from citewell.types.literature import Article, ArticleId, SearchedArticles, SourceName

PAUSE_S, PAUSE_WITH_KEY_S = 0.34, 0.1
"""Between two requests to one server: PubMed allows 3 a second, and 10 with a key."""
BUSY = (429, 500, 502, 503, 504)
TIMEOUT_S = 30.0
AT_ONCE = 100
"""Articles that are asked for in one request."""
TOOL = {"tool": "citewell"}
NOT_THERE = "{source} has no article with {label}. Check the ID."
UNREADABLE = "{source} sent an answer that could not be read. Try again later."

DOI_CANDIDATES = 5
"""Articles that PubMed may list for a DOI; the one that has it is known once they are read."""
ZOTERO_LIBRARY, ZOTERO_KEY = re.compile(r"(?:users|groups)/[0-9]{1,12}"), re.compile(r"[A-Z0-9]{8}")
T = TypeVar("T")

Found = Mapping[ArticleId, Article | CitewellError]
"""What became of each ID that was asked for."""


class LiteratureSource(Protocol):
    """An index of articles."""

    name: SourceName
    label: str

    def articles(self, ids: Sequence[ArticleId]) -> Found:
        """The articles with these IDs; one that is not there does not stop the others."""
        ...

    def search(self, query: str, *, limit: int) -> SearchedArticles:
        """The newest articles that a query in the index's own language finds."""
        ...

    def full_text(self, article: Article) -> bytes | None:
        """The open-access full text as JATS; None where there is none."""
        ...

    def close(self) -> None: ...


class Turns:
    """One request at a time to each server, and a pause between them, for all that this process asks."""

    _lock = threading.Lock()
    _free_at: dict[str, float] = {}  # noqa: RUF012 - shared on purpose: the limit is the machine's

    @classmethod
    def wait(cls, host: str, pause_s: float) -> None:
        """Wait for a turn."""
        with cls._lock:
            now = time.monotonic()
            at = max(now, cls._free_at.get(host, 0.0))
            cls._free_at[host] = at + pause_s
        time.sleep(at - now)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server sent."""

    data: bytes
    headers: Mapping[str, str]

    def json(self, source: str) -> Mapping[str, Any]:
        """The object that it holds."""
        try:
            read = json.loads(self.data)
        except ValueError as error:
            raise DamagedFile(UNREADABLE.format(source=source)) from error
        if not isinstance(read, Mapping):
            raise DamagedFile(UNREADABLE.format(source=source))
        return read


class Server:
    """One server at its address."""

    def __init__(
        self, label: str, address: str, *, pause_s: float, max_bytes: int, headers: Mapping[str, str] | None = None
    ) -> None:
        if not is_safe(address):
            raise InputError(f"The address of {label} must start with https://.")
        self.label, self._address = label, address if "?" in address else address.rstrip("/") + "/"
        self._pause_s, self._max_bytes = pause_s, max_bytes
        self._client = httpx.Client(
            timeout=TIMEOUT_S, follow_redirects=True, trust_env=not is_local(address), headers=dict(headers or {})
        )

    def close(self) -> None:
        self._client.close()

    def get(self, place: str, params: Mapping[str, str]) -> Reply | None:
        """What is at a place; None where nothing is."""
        return self._tried("GET", place, {"params": dict(params)})

    def post(self, place: str, form: Mapping[str, str]) -> Reply | None:
        """The same with a form, which may be long and stays out of logs."""
        return self._tried("POST", place, {"data": dict(form)})

    def _tried(self, method: str, place: str, said: Mapping[str, Any]) -> Reply | None:
        for pause_s in (*RETRY_AFTER_S, None):
            Turns.wait(urlsplit(self._address).netloc, self._pause_s)
            try:
                return self._asked(method, place, said)
            except TransientFailure as failure:
                if pause_s is None:
                    raise failure.error from failure
                time.sleep(spread(pause_s, failure.wait_s))
        raise AssertionError("the last try returns or raises")

    def _asked(self, method: str, place: str, said: Mapping[str, Any]) -> Reply | None:
        silent = Unavailable(f"{self.label} does not respond. Nothing was lost. Try again later to continue.")
        try:
            with self._client.stream(method, self._address + place, **said) as reply:
                if not is_safe(str(reply.url)):
                    raise InputError(f"{self.label} redirects to an address that is not https, so it was not read.")
                if reply.status_code in BUSY:
                    raise TransientFailure(silent, retry_after=reply.headers.get("retry-after"))
                data = b"".join(self._pieces(reply))
                if reply.status_code == httpx.codes.NOT_FOUND:
                    return None
                if reply.status_code == httpx.codes.BAD_REQUEST and b"API key" in data:
                    raise InputError(f"{self.label} does not accept the key in the settings. Check it.")
                if reply.status_code in (401, 403):
                    raise InputError(f"{self.label} refuses access. Check its address and key in the settings.")
                if reply.status_code != httpx.codes.OK:
                    raise InputError(f"{self.label} does not accept this request (status {reply.status_code}).")
                return Reply(data, dict(reply.headers))
        except (httpx.HTTPError, httpx.InvalidURL, httpx.CookieConflict) as error:
            raise TransientFailure(silent) from error

    def _pieces(self, reply: httpx.Response) -> Iterator[bytes]:
        size = 0
        for piece in reply.iter_bytes():
            size += len(piece)
            if size > self._max_bytes:
                raise TooLarge(
                    f"{self.label} sent more than {self._max_bytes // (1024 * 1024)} MB, the limit for a file. "
                    "It was not read."
                )
            yield piece


class PubMed:
    """PubMed and PubMed Central through the E-utilities of NCBI."""

    name: SourceName = "pubmed"
    label = "PubMed"

    def __init__(self, address: str, ids_address: str, *, key: str | None, max_bytes: int) -> None:
        pause_s = PAUSE_S if key is None else PAUSE_WITH_KEY_S
        self._server = Server(self.label, address, pause_s=pause_s, max_bytes=max_bytes)
        self._converter = Server(
            "The ID converter of PubMed Central", ids_address, pause_s=PAUSE_S, max_bytes=max_bytes
        )
        self._known = {**TOOL, **({"api_key": key} if key else {})}

    def close(self) -> None:
        self._server.close()
        self._converter.close()

    def articles(self, ids: Sequence[ArticleId]) -> Found:
        found: dict[ArticleId, Article | CitewellError] = {}
        pmids = {one: [one.value] for one in ids if one.kind == "pmid"}
        for some in parts([one for one in ids if one.kind == "pmcid"], AT_ONCE):
            with _noted(some, found):
                pmids |= self._of_pmcids(some)
        for one in ids:
            if one.kind == "doi":
                with _noted([one], found):
                    pmids[one] = self._searched(f'"{one.value}"[doi]', limit=DOI_CANDIDATES)[0]
        fetched = self._fetched([pmid for several in pmids.values() for pmid in several])
        for one in ids:
            found.setdefault(one, self._meant(one, [fetched[pmid] for pmid in pmids.get(one, ())]))
        return found

    def _meant(self, one: ArticleId, candidates: Sequence[Article | CitewellError]) -> Article | CitewellError:
        """The article that an ID names."""
        missing = NotFound(NOT_THERE.format(source=self.label, label=one.label))
        articles = [article for article in candidates if isinstance(article, Article)]
        if one.kind == "doi":
            articles = [article for article in articles if article.doi in (one.value, None)]
        if articles:
            return articles[0] if one.kind != "pmcid" else replace(articles[0], pmcid=one.value)
        return next((error for error in candidates if isinstance(error, Unavailable | InputError)), missing)

    def _of_pmcids(self, ids: Sequence[ArticleId]) -> dict[ArticleId, list[str]]:
        """The PMIDs of articles in PubMed Central."""
        asked = {**TOOL, "ids": ",".join(one.value for one in ids), "format": "json", "versions": "no"}
        reply = self._converter.get("", asked)
        records = None if reply is None else reply.json(self.label).get("records")
        known = {
            str(record.get("pmcid", "")).upper(): str(record.get("pmid") or "")
            for record in (records if isinstance(records, list) else ())
            if isinstance(record, Mapping)
        }
        return {one: [known[one.value]] for one in ids if known.get(one.value)}

    def _fetched(self, pmids: Iterable[str]) -> dict[str, Article | CitewellError]:
        """What became of each PMID; an answer that cannot be read is asked for again, article by article."""
        articles: dict[str, Article | CitewellError] = {}
        for some in parts(list(dict.fromkeys(pmids)), AT_ONCE):
            try:
                articles |= self._fetched_at_once(some)
            except DamagedFile as error:
                articles |= (
                    {some[0]: error}
                    if len(some) == 1
                    else {pmid: article for one in some for pmid, article in self._fetched([one]).items()}
                )
            except CitewellError as error:
                articles |= dict.fromkeys(some, error)
        return articles

    def _fetched_at_once(self, pmids: Sequence[str]) -> dict[str, Article | CitewellError]:
        """Articles by PMID, whatever the order in which they come; what was not asked for is left out."""
        form = {**self._known, "db": "pubmed", "id": ",".join(pmids), "retmode": "xml"}
        reply = self._server.post("efetch.fcgi", form)
        articles: dict[str, Article | CitewellError] = {
            pmid: NotFound(NOT_THERE.format(source=self.label, label=f"PMID {pmid}")) for pmid in pmids
        }
        for article in () if reply is None or not reply.data.strip() else pubmed_articles(reply.data):
            if article.pmid in articles and not isinstance(articles[article.pmid], Article):
                articles[article.pmid] = article
        return articles

    def search(self, query: str, *, limit: int) -> SearchedArticles:
        pmids, total = self._searched(query, limit=limit)
        found = list(self._fetched(pmids).values())
        articles = tuple(article for article in found if isinstance(article, Article))
        if found and not articles:
            raise next(error for error in found if isinstance(error, CitewellError))
        return SearchedArticles(total, articles)

    def _searched(self, query: str, *, limit: int) -> tuple[list[str], int]:
        form = {**self._known, "db": "pubmed", "term": query, "retmode": "json", "sort": "pub_date"}
        reply = self._server.post("esearch.fcgi", {**form, "retmax": str(limit)})
        result = {} if reply is None else reply.json(self.label).get("esearchresult")
        if not isinstance(result, Mapping) or "ERROR" in result:
            raise InputError("PubMed could not run this query. Check its words and brackets.")
        pmids = [str(pmid) for pmid in result.get("idlist") or () if str(pmid).isdigit()]
        with suppress(ValueError):
            return list(dict.fromkeys(pmids))[:limit], int(result.get("count", len(pmids)))
        raise DamagedFile(UNREADABLE.format(source=self.label))

    def full_text(self, article: Article) -> bytes | None:
        if article.pmcid is None:
            return None
        form = {**self._known, "db": "pmc", "id": article.pmcid.removeprefix("PMC"), "retmode": "xml"}
        reply = self._server.post("efetch.fcgi", form)
        return None if reply is None or not reply.data.strip() else full_text(reply.data, article)


class EuropePmc:
    """Europe PMC through its RESTful service."""

    name: SourceName = "europepmc"
    label = "Europe PMC"

    def __init__(self, address: str, *, max_bytes: int) -> None:
        self._server = Server(self.label, address, pause_s=PAUSE_S, max_bytes=max_bytes)

    def close(self) -> None:
        self._server.close()

    def articles(self, ids: Sequence[ArticleId]) -> Found:
        found: dict[ArticleId, Article | CitewellError] = {}
        for some in parts(ids, AT_ONCE // 4):
            with _noted(some, found):
                articles = self.search(" OR ".join(map(_europepmc_term, some)), limit=AT_ONCE).articles
                found |= {one: article for article in reversed(articles) for one in article.ids if one in some}
        missing = (NotFound(NOT_THERE.format(source=self.label, label=one.label)) for one in ids)
        return {one: found.get(one, error) for one, error in zip(ids, missing, strict=True)}

    def search(self, query: str, *, limit: int) -> SearchedArticles:
        articles: dict[tuple[ArticleId, ...] | str, Article] = {}
        cursor, total = "*", 0
        while len(articles) < limit:
            asked = {"query": query, "format": "json", "resultType": "core", "sort": "P_PDATE_D desc"}
            size = {"pageSize": str(min(limit, AT_ONCE)), "cursorMark": cursor}
            reply = self._server.get("search", {**asked, **size})
            page = {} if reply is None else reply.json(self.label)
            listed = page.get("resultList")
            results = listed.get("result") if isinstance(listed, Mapping) else None
            if not isinstance(results, list):
                raise InputError("Europe PMC could not run this query. Check its words and brackets.")
            count = page.get("hitCount")
            total = count if isinstance(count, int) else max(total, len(results))
            before = len(articles)
            for article in (europepmc_article(one) for one in results if isinstance(one, Mapping)):
                articles.setdefault(article.ids or article.title, article)
            following = str(page.get("nextCursorMark") or cursor)
            if following == cursor or not results or len(articles) == before:
                break
            cursor = following
        return SearchedArticles(total, tuple(articles.values())[:limit])

    def full_text(self, article: Article) -> bytes | None:
        if article.pmcid is None:
            return None
        reply = self._server.get(f"{article.pmcid}/fullTextXML", {})
        return None if reply is None else full_text(reply.data, article)


class Zotero:
    """A library of Zotero's web API, version 3."""

    label = "Zotero"

    def __init__(self, address: str, *, key: str | None, max_bytes: int) -> None:
        headers = {"Zotero-API-Version": "3", **({"Zotero-API-Key": key} if key else {})}
        self._server = Server(self.label, address, pause_s=PAUSE_S, max_bytes=max_bytes, headers=headers)

    def close(self) -> None:
        self._server.close()

    def references(self, library: str, collection: str | None = None) -> Iterator[tuple[int, Article | InputError]]:
        """The references of a library or of one of its collections, page by page."""
        if not ZOTERO_LIBRARY.fullmatch(library) or not ZOTERO_KEY.fullmatch(collection or "A" * 8):
            raise InputError("Name a Zotero library as users/NUMBER or groups/NUMBER, and a collection by its key.")
        place = f"{library}/collections/{collection}" if collection else library
        first = 0
        while True:
            asked = {"format": "csljson", "limit": str(AT_ONCE), "start": str(first)}
            reply = self._server.get(f"{place}/items/top", asked)
            if reply is None:
                raise NotFound("Zotero has no such library or collection. Check its number and key.")
            page = list(csl_references(reply.data.decode("utf-8", "replace")))
            yield from ((first + number, article) for number, article in page)
            if len(page) < AT_ONCE:
                return
            first += len(page)


def parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """A list in parts of a size at most."""
    return (items[at : at + size] for at in range(0, len(items), size))


@contextmanager
def _noted(ids: Iterable[ArticleId], found: dict[ArticleId, Article | CitewellError]) -> Iterator[None]:
    """What goes wrong for some IDs is noted for them, and the others go on."""
    try:
        yield
    except CitewellError as error:
        found.update(dict.fromkeys(ids, error))


def _europepmc_term(one: ArticleId) -> str:
    if one.kind == "pmid":
        return f"(EXT_ID:{one.value} AND SRC:MED)"
    return f"PMCID:{one.value}" if one.kind == "pmcid" else f'DOI:"{one.value}"'
