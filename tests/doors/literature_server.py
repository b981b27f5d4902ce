"""A small server with the shapes of PubMed, Europe PMC and Zotero over invented articles, on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from citewell.config import Settings


@dataclass
class Paper:
    """An invented article."""

    pmid: str
    title: str
    abstract: str = "Chewing two zanfluoride tablets a day is enough for adults with sore gums."
    pmcid: str | None = None
    doi: str | None = None
    body: str | None = None
    """Its open-access full text, where it has one."""
    types: tuple[str, ...] = ("Journal Article",)
    comments: tuple[tuple[str, str, str], ...] = ()
    """What was said of it: the kind as PubMed writes it, where, and the PMID."""

    def pubmed(self) -> str:
        comments = "".join(
            f'<CommentsCorrections RefType="{kind}"><RefSource>{where}</RefSource><PMID Version="1">{pmid}</PMID>'
            "</CommentsCorrections>"
            for kind, where, pmid in self.comments
        )
        types = "".join(f'<PublicationType UI="D0">{kind}</PublicationType>' for kind in self.types)
        parts = self.abstract and (
            f'<Abstract><AbstractText Label="RESULTS">{self.abstract}</AbstractText>'
            "<AbstractText>Levels below 5 <i>mmol</i>/L were rare.</AbstractText></Abstract>"
        )
        ids = "".join(
            f'<ArticleId IdType="{kind}">{value}</ArticleId>'
            for kind, value in (("pubmed", self.pmid), ("pmc", self.pmcid), ("doi", self.doi))
            if value
        )
        return f"""<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">{self.pmid}</PMID>
<Article PubModel="Print"><Journal><ISSN IssnType="Print">0000-0001</ISSN><JournalIssue CitedMedium="Print">
<Volume>12</Volume><Issue>3</Issue><PubDate><Year>2021</Year><Month>May</Month></PubDate></JournalIssue>
<Title>Journal of Invented Gums</Title></Journal><ArticleTitle>{self.title}.</ArticleTitle>
<Pagination><MedlinePgn>10-9</MedlinePgn></Pagination>{parts}<AuthorList CompleteYN="Y">
<Author ValidYN="Y"><LastName>Ängström</LastName><ForeName>Ada B</ForeName><Initials>AB</Initials></Author>
<Author ValidYN="Y"><CollectiveName>Gum Study Group</CollectiveName></Author></AuthorList><Language>eng</Language>
<PublicationTypeList>{types}</PublicationTypeList></Article>
<CommentsCorrectionsList>{comments}</CommentsCorrectionsList></MedlineCitation>
<PubmedData><ArticleIdList>{ids}</ArticleIdList><ReferenceList><Reference><ArticleIdList>
<ArticleId IdType="doi">10.1000/cited</ArticleId></ArticleIdList></Reference></ReferenceList>
</PubmedData></PubmedArticle>"""

    def jats(self) -> str:
        body = f"<body><sec><title>Results</title><p>{self.body}</p></sec></body>" if self.body else ""
        return f"""<article xmlns:xlink="http://www.w3.org/1999/xlink" article-type="research-article" xml:lang="en">
<front><journal-meta><journal-title-group><journal-title>Journal of Invented Gums</journal-title></journal-title-group>
</journal-meta><article-meta><article-id pub-id-type="pmc">{(self.pmcid or "").removeprefix("PMC")}</article-id>
<title-group><article-title>{self.title}</article-title></title-group><abstract><p>{self.abstract}</p></abstract>
</article-meta></front>{body}</article>"""

    def europepmc(self) -> dict[str, object]:
        spaced = {"RetractionIn": "Retraction in", "ErratumIn": "Erratum in"}
        comments = [
            {"id": pmid, "source": "MED", "reference": where, "type": spaced.get(kind, kind), "orderIn": at}
            for at, (kind, where, pmid) in enumerate(self.comments)
        ]
        return {
            "id": self.pmid,
            "source": "MED",
            "pmid": self.pmid,
            **({"pmcid": self.pmcid} if self.pmcid else {}),
            **({"doi": self.doi} if self.doi else {}),
            "title": f"{self.title}.",
            "authorList": {"author": [{"fullName": "Ängström AB"}, {"collectiveName": "Gum Study Group"}]},
            "journalInfo": {"volume": "12", "issue": "3", "journal": {"title": "Journal of Invented Gums"}},
            "pubYear": "2021",
            "pageInfo": "10-19",
            "abstractText": f"<h4>Results</h4>{self.abstract} Levels were &lt;5.",
            "language": "eng",
            "pubTypeList": {"pubType": list(self.types)},
            "isOpenAccess": "Y" if self.body else "N",
            "commentCorrectionList": {"commentCorrection": comments},
            "firstPublicationDate": "2021-05-04",
        }


@dataclass
class Indexes:
    """What the server has, what it was asked, and how it misbehaves."""

    papers: list[Paper]
    address: str = ""
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    """What the next requests are answered with, before all is well again."""
    dies_after: int | None = None
    """After so many answers the server is silent."""
    instead: dict[str, bytes] = field(default_factory=dict)
    """Other bytes for the requests whose last ID is this."""
    zotero: list[dict[str, object]] = field(default_factory=list)
    holds: threading.Event | None = None
    """Until it is set, nothing is answered."""

    def settings(self, **others: object) -> dict[str, object]:
        """The settings with which all of it is here."""
        return {
            "literature": ("pubmed", "europepmc", "zotero"),
            "pubmed_url": f"{self.address}/eutils",
            "pubmed_ids_url": f"{self.address}/idconv",
            "europepmc_url": f"{self.address}/epmc",
            "zotero_url": f"{self.address}/zotero",
            **others,
        }

    def environment(self) -> dict[str, str]:
        """The same for the command line."""
        assert Settings.model_config["env_prefix"] == "CITEWELL_"
        return {
            f"CITEWELL_{name.upper()}": value if isinstance(value, str) else json.dumps(value)
            for name, value in self.settings().items()
        }

    def places(self) -> list[str]:
        return [place for place, _ in self.asked]

    def answer(self, place: str, said: dict[str, str]) -> tuple[int, bytes]:  # noqa: PLR0911
        if place in self.instead:
            return 200, self.instead[place]
        if place == "/eutils/efetch.fcgi":
            return self.fetched(said)
        if place == "/eutils/esearch.fcgi":
            return 200, json.dumps({"esearchresult": self.searched(said)}).encode()
        if place == "/idconv/":
            wanted = said["ids"].split(",")
            found = {paper.pmcid: paper for paper in self.papers if paper.pmcid}
            records = [
                {"requested-id": one, "pmcid": one, "pmid": int(found[one].pmid)}
                if one in found
                else {"requested-id": one, "pmcid": one, "status": "error", "errmsg": "not found"}
                for one in wanted
            ]
            return 200, json.dumps({"status": "ok", "records": records}).encode()
        if place == "/epmc/search":
            return 200, json.dumps(self.europepmc(said)).encode()
        if place.endswith("/fullTextXML"):
            paper = next((paper for paper in self.papers if paper.pmcid == place.split("/")[2] and paper.body), None)
            return (200, paper.jats().encode()) if paper else (404, b"<error/>")
        if place.startswith("/zotero/"):
            first = int(said.get("start", 0))
            return 200, json.dumps({"items": self.zotero[first : first + int(said["limit"])]}).encode()
        return 404, b""

    def fetched(self, said: dict[str, str]) -> tuple[int, bytes]:
        ids = said["id"].split(",")
        if ids[-1] in self.instead:
            return 200, self.instead[ids[-1]]
        if said["db"] == "pmc":
            paper = next((paper for paper in self.papers if paper.pmcid == f"PMC{ids[0]}"), None)
            return 200, f"<pmc-articleset>{paper.jats() if paper else ''}</pmc-articleset>".encode()
        found = [paper.pubmed() for paper in reversed(self.papers) if paper.pmid in ids]
        unasked = [paper.pubmed() for paper in self.papers[:1]]  # a feed repeats, reorders, and adds of its own
        return 200, f"<?xml version='1.0'?><PubmedArticleSet>{''.join(found + unasked)}</PubmedArticleSet>".encode()

    def searched(self, said: dict[str, str]) -> dict[str, object]:
        if said["term"].count("(") != said["term"].count(")"):
            return {"ERROR": "Search Backend failed"}
        if said["term"].endswith("[doi]"):
            found = [paper.pmid for paper in self.papers if f'"{paper.doi}"[doi]' == said["term"]]
        else:
            found = [paper.pmid for paper in self.papers if said["term"].lower() in paper.title.lower()]
        return {"count": str(len(found)), "idlist": [*found, *found[:1]][: int(said["retmax"])]}

    def europepmc(self, said: dict[str, str]) -> dict[str, object]:
        def is_meant(paper: Paper, term: str) -> bool:
            named = (f"(EXT_ID:{paper.pmid} AND SRC:MED)", f"PMCID:{paper.pmcid}", f'DOI:"{paper.doi}"')
            return term in named or term.lower() in paper.title.lower()

        terms = said["query"].split(" OR ")
        found = [paper for paper in self.papers if any(is_meant(paper, term) for term in terms)]
        first = 0 if said["cursorMark"] == "*" else int(said["cursorMark"])
        page = found[first : first + int(said["pageSize"])]
        following = str(first + len(page)) if page else said["cursorMark"]
        results = [paper.europepmc() for paper in page]
        return {"hitCount": len(found), "nextCursorMark": following, "resultList": {"result": results}}


@contextmanager
def serving_indexes(papers: list[Paper]) -> Iterator[Indexes]:
    """The server while it runs."""
    state = Indexes(papers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["content-length"])).decode())

        def _answer(self, query: str) -> None:
            said = {name: values[0] for name, values in parse_qs(query).items()}
            place = urlsplit(self.path).path
            state.asked.append((place, said | {"": self.headers.get("zotero-api-key", "")}))
            if state.holds is not None:
                state.holds.wait()
            if state.dies_after is not None and len(state.asked) > state.dies_after:
                self.close_connection = True
                return
            if state.statuses:
                self.send_response(state.statuses.pop(0))
                self.send_header("retry-after", "0")
                self.end_headers()
                return
            status, data = state.answer(place, said)
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Quietly."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    state.address = f"http://127.0.0.1:{httpd.server_port}"
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()
