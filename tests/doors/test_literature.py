"""Articles from PubMed and Europe PMC, served by this machine in their public shapes: whole, once, never in part."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import bibtexparser
import httpx
import pytest
import rispy

from citewell.adapters.literature import clients
from citewell.answer.answer_json import answer_json
from citewell.answer.references import ris
from citewell.answer_export import AnswerFormat, exported
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import DoesNotFit, InputError, Unavailable
from citewell.operations.literature import ImportOutcome, Literature, LiteratureTimer
from citewell.operations.workers import drain, worker_commands
from citewell.types import OWNER_ID, Filing, LifecycleState, Qualified, Role
from citewell.types.literature import SavedQuery
from tests.api.conftest import TOKEN, serving_app
from tests.cli.test_cli import Shell
from tests.doors.literature_server import Indexes, Paper, serving_indexes

pytestmark = pytest.mark.slow

OPEN = Paper(
    "101",
    "Zanfluoride tablets for sore gums",
    pmcid="PMC900",
    doi="10.1000/zan.1",
    body="Zanfluoride 7 mg twice a day was given to adults with sore gums for ten days.",
)
CLOSED = Paper(
    "102", "Salt water for sore gums", abstract="Adults rinse with salt water every hour.", doi="10.1000/salt"
)
BARE = Paper("103", "A letter about gums", abstract="")


@pytest.fixture
def indexes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Indexes]:
    monkeypatch.setattr(clients, "RETRY_AFTER_S", (0.0, 0.0))
    monkeypatch.setattr(clients, "PAUSE_S", 0.0)
    with serving_indexes([OPEN, CLOSED, BARE]) as state:
        yield state


@pytest.fixture
def library(indexes: Indexes, tmp_path: Path) -> Iterator[App]:
    with build(Settings(home=tmp_path / "home", **indexes.settings())) as app:  # type: ignore[arg-type]
        yield app


@pytest.fixture
def shell(
    indexes: Indexes, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    for name, value in indexes.environment().items():
        monkeypatch.setenv(name, value)
    return Shell(tmp_path / "home", capsys, monkeypatch)


def add(app: App, *ids: str, is_fresh: bool = False, filing: Filing | None = None) -> list[ImportOutcome]:
    put = lambda source, filing: app.add_source(source, filing=filing)  # noqa: E731
    with Literature(app, scope=app.scope_of_owner(), put=put) as literature:
        return list(literature.add(ids, filing=filing or Filing(), is_fresh=is_fresh))


def text_of(app: App, document_id: str | None) -> str:
    assert document_id is not None
    return app.show(document_id)[1].text


def test_an_article_comes_in_whole_where_it_is_open_access_and_as_an_abstract_otherwise(library: App) -> None:
    whole, abstract, bare = add(library, "PMID 101", "https://doi.org/10.1000/SALT", "103")
    assert (whole.state, whole.is_full_text, whole.detail) == ("added", True, "Full text.")
    assert "Zanfluoride 7 mg twice a day was given" in text_of(library, whole.document_id)
    assert (abstract.state, abstract.is_full_text) == ("added", False)
    assert abstract.detail == "Abstract only. The full text is not open access."
    assert bare.state == "failed"
    assert bare.detail == "There is neither an abstract nor an open-access full text, so there is nothing to add."
    entry = next(entry for entry in library.entries() if entry.id == abstract.document_id)
    assert entry.title == "Salt water for sore gums"
    assert entry.notes == ("This is only an abstract, not the full text.",)
    assert entry.metadata.identifiers == (("pmid", "102"), ("doi", "10.1000/salt"))
    assert entry.metadata.published is not None
    assert (entry.metadata.published.isoformat(), entry.metadata.language) == ("2021-05-01", "en")
    text = text_of(library, abstract.document_id)
    for words in ("Ada B Ängström, Gum Study Group", "Journal of Invented Gums, volume 12", "Levels below 5 mmol/L"):
        assert words in text
    whole_entry = next(entry for entry in library.entries() if entry.id == whole.document_id)
    assert dict(whole_entry.metadata.identifiers) == {"pmid": "101", "pmc": "900", "doi": "10.1000/zan.1"}
    assert whole_entry.notes == ()


def test_what_is_here_is_not_fetched_again_and_becomes_a_version_only_if_its_text_changed(
    library: App, indexes: Indexes
) -> None:
    (first,) = add(library, "PMC900")
    asked = len(indexes.asked)
    again = add(library, "101", "PMC900", "10.1000/zan.1")
    assert [(one.state, one.document_id) for one in again] == [("known", first.document_id)] * 3
    assert len(indexes.asked) == asked
    (same,) = add(library, "101", is_fresh=True)
    assert (same.state, same.detail) == ("unchanged", "Nothing has changed.")
    OPEN.body, before = "Zanfluoride 5 mg was given.", OPEN.body
    try:
        (changed,) = add(library, "101", is_fresh=True)
    finally:
        OPEN.body = before
    assert changed.state == "changed"
    versions = {entry.version: entry for entry in library.entries()}
    assert (versions[1].state, versions[2].is_current) == (LifecycleState.SUPERSEDED, True)
    assert versions[1].lineage == versions[2].lineage
    OPEN.body, before = None, OPEN.body
    try:
        (kept,) = add(library, "101", is_fresh=True)
    finally:
        OPEN.body = before
    assert (kept.state, kept.detail) == (
        "unchanged",
        "The full text here was kept. Only the abstract is open access now.",
    )
    library.library.withdraw(changed.document_id or "", library.scope_of_owner(), by=OWNER_ID)
    (withdrawn,) = add(library, "101")
    assert (withdrawn.state, withdrawn.detail) == (
        "known",
        "In the library, but withdrawn. Restore it to use it.",
    )


def test_wrong_and_unknown_ids_are_told_each_for_itself_and_the_others_go_on(library: App) -> None:
    wrong, malformed, known, unknown, no_doi = add(library, "zinc", "10.1000", "102", "999", "10.1000/none")
    assert wrong.detail == ("“zinc” is not a PMID, PMCID or DOI. Write it like 12345678, PMC1234567 or 10.1000/xyz.")
    assert (malformed.state, known.state) == ("failed", "added")
    assert unknown.detail == "Europe PMC has no article with PMID 999. Check the ID."
    assert no_doi.detail == "Europe PMC has no article with DOI 10.1000/none. Check the ID."
    assert [entry.title for entry in library.entries()] == ["Salt water for sore gums"]


def test_a_repeated_id_is_taken_once_and_what_was_not_asked_for_is_left_out(library: App) -> None:
    outcomes = add(library, "102", "PMID: 102", " 102 ")
    assert [outcome.state for outcome in outcomes] == ["added"]
    assert len(library.entries()) == 1


@pytest.mark.parametrize(
    "attack",
    [
        b"<PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>102</PMID><Article><ArticleTitle>Cut",
        b'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c '
        b'"&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><PubmedArticleSet>&c;&undefined;</PubmedArticleSet>',
        b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><PubmedArticleSet>&x;</PubmedArticleSet>',
        b"not XML at all",
    ],
    ids=["cut", "bomb", "file", "text"],
)
def test_an_answer_that_cannot_be_read_costs_one_article_and_no_other(
    library: App, indexes: Indexes, attack: bytes
) -> None:
    indexes.instead["102"] = attack
    indexes.instead["/epmc/search"] = b'{"resultList": 3'
    good, bad = add(library, "101", "102")
    assert (good.state, bad.state) == ("added", "failed")
    assert bad.detail
    assert "passwd" not in bad.detail
    assert [entry.title for entry in library.entries()] == [OPEN.title]


def test_the_other_index_is_asked_for_what_the_first_does_not_give(library: App, indexes: Indexes) -> None:
    indexes.instead["102"] = b"<PubmedArticleSet/>"
    (outcome,) = add(library, "102")
    assert outcome.state == "added"
    assert "Adults rinse with salt water every hour. Levels were <5." in text_of(library, outcome.document_id)


def test_a_full_text_that_cannot_be_taken_leaves_the_abstract_and_says_so(library: App, indexes: Indexes) -> None:
    other = Paper("7", "Another article", body="x", pmcid="PMC77")
    indexes.instead["900"] = other.jats().encode()
    indexes.instead["/epmc/PMC900/fullTextXML"] = b"<article><front/><body><p>cut"
    (outcome,) = add(library, "101")
    assert (outcome.state, outcome.is_full_text) == ("added", False)
    assert outcome.detail.startswith("Abstract only. The XML is incomplete or malformed")


def test_an_article_over_the_limit_is_refused_while_it_arrives(indexes: Indexes, tmp_path: Path) -> None:
    indexes.instead["900"] = b"<article>" + b"x" * (3 * 1024 * 1024)
    indexes.instead["/epmc/PMC900/fullTextXML"] = indexes.instead["900"]
    settings = Settings(home=tmp_path / "home", max_file_mb=1, **indexes.settings())  # type: ignore[arg-type]
    with build(settings) as app:
        (outcome,) = add(app, "101")
        assert outcome.detail == (
            "Abstract only. Europe PMC sent more than 1 MB, the limit for a file. It was not read."
        )
        assert len(app.entries()) == 1


def test_a_busy_server_is_asked_again_and_a_dead_one_stops_nothing_half_way(library: App, indexes: Indexes) -> None:
    indexes.statuses = [429, 503]
    assert [outcome.state for outcome in add(library, "102")] == ["added"]
    asked = len(indexes.asked)
    indexes.dies_after = asked + 1  # the record comes, and then nothing more
    silent = "does not respond. Nothing was lost. Try again later to continue."
    (outcome,) = add(library, "101")
    assert (outcome.state, outcome.detail) == ("failed", f"PubMed {silent}")
    outcomes = add(library, "104", "105", "106", "107", "108")
    assert [outcome.detail for outcome in outcomes[:3]] == [f"PubMed {silent}"] * 3
    assert {outcome.detail for outcome in outcomes[3:]} == {
        "Not tried, because the server stopped responding. Run the same command again to continue."
    }
    assert len(library.entries()) == 1
    indexes.dies_after = None
    (again,) = add(library, "101")
    assert (again.state, again.is_full_text) == ("added", True)


def test_nothing_is_contacted_until_an_administrator_allows_it(indexes: Indexes, tmp_path: Path) -> None:
    settings = indexes.settings() | {"literature": ()}
    with build(Settings(home=tmp_path / "home", **settings)) as app:  # type: ignore[arg-type]
        with pytest.raises(DoesNotFit, match="switched off, so nothing was contacted"):
            add(app, "101")
        assert indexes.asked == []
    plain = Settings(home=tmp_path / "other", literature=("pubmed",), pubmed_url="http://pubmed.example")
    with build(plain) as app, pytest.raises(InputError, match="must start with https://"):
        add(app, "101")


def test_the_key_of_pubmed_is_sent_in_the_form_and_stands_in_no_message(indexes: Indexes, tmp_path: Path) -> None:
    settings = indexes.settings(pubmed_key="s3cret", literature=("pubmed",))
    with build(Settings(home=tmp_path / "home", **settings)) as app:  # type: ignore[arg-type]
        add(app, "102")
        assert indexes.asked[0][1]["api_key"] == "s3cret"
        indexes.statuses = [400]
        (outcome,) = add(app, "101")
        assert outcome.detail == "PubMed does not accept this request (status 400)."


def test_requests_to_one_server_keep_apart_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(clients.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(clients.time, "sleep", waited.append)
    for _ in range(4):
        clients.Turns.wait("apart.example", 0.34)
    assert [round(one, 2) for one in waited] == [0.0, 0.34, 0.68, 1.02]


def test_the_command_line_adds_lists_and_tells_what_failed(shell: Shell) -> None:
    status, out, err = shell("literature", "add", "101", "zinc", "--tag", "gums")
    assert status == 1
    assert "✓ PMID 101: Zanfluoride tablets for sore gums" in out
    assert "1 added, 0 already here, 1 failed" in out
    assert "“zinc” is not a PMID" in err
    assert shell.json("list")["documents"][0]["tags"] == ["gums"]
    told = shell("literature", "search", "gums", "--limit", "2")[1]
    assert "= PMID 101  Zanfluoride tablets for sore gums\n    Ada B Ängström, Gum Study Group. Journal" in told
    assert "3 found, 2 listed." in told
    found = shell.json("literature", "search", "salt", "--from", "europepmc")
    assert (found["total"], found["articles"][0]["doi"], found["articles"][0]["document_id"]) == (
        1,
        "10.1000/salt",
        None,
    )
    assert shell.json("literature", "search", "(gums")["error"]["message"] == (
        "PubMed could not run this query. Check its words and brackets."
    )
    assert shell.json("literature", "add", "101")["articles"][0]["state"] == "known"


# ------------------------------------------------------------------------------ retractions, doubts and corrections


RETRACTED = ("RetractionIn", "J Invented Gums. 2024 Jan;15(1):1.", "201")
WORDS = "“Salt water for sore gums” has been retracted (J Invented Gums. 2024 Jan;15(1):1)"
QUESTION = "how often do adults rinse with salt water?"


@pytest.fixture
def retracted(indexes: Indexes) -> Iterator[None]:
    CLOSED.comments, CLOSED.types = (RETRACTED,), ("Journal Article", "Retracted Publication")
    yield
    CLOSED.comments, CLOSED.types = (), ("Journal Article",)


@pytest.mark.parametrize("source", ["pubmed", "europepmc"])
def test_both_indexes_tell_of_retractions_doubts_and_corrections(
    indexes: Indexes, tmp_path: Path, source: str, retracted: None
) -> None:
    CLOSED.comments = (("ErratumIn", "Gums. 2022;1:3", "202"), ("CommentIn", "Gums. 2022;1:4", "203"))
    settings = indexes.settings() | {"literature": (source,)}
    with build(Settings(home=tmp_path / "home", **settings)) as app:  # type: ignore[arg-type]
        (outcome,) = add(app, "102")
    assert outcome.said == (
        "“Salt water for sore gums” has been retracted",
        "a correction of “Salt water for sore gums” has been published (Gums. 2022;1:3)",
    )


def test_an_answer_that_cites_a_retracted_article_says_so_everywhere(library: App, retracted: None) -> None:
    (outcome,) = add(library, "102")
    answer = library.ask(QUESTION)
    assert [notice.document_id for notice in answer.notices] == [outcome.document_id]
    assert isinstance(answer.action, Qualified)
    assert answer.action.reason.startswith(WORDS)
    service, owner = library.ask_service, library.owner()
    kept = service.audit.read(answer.id, owner).words["answer"]
    assert (kept["action"], kept["notices"][0]["text"]) == ("QUALIFY", WORDS)
    assert WORDS in ris(library.references(answer.id))
    assert not library.replay(answer.id).notes
    assert library.replay(answer.id).is_same
    sheet = exported(service.as_known_now(service.audit.read(answer.id, owner)), AnswerFormat.MARKDOWN).decode()
    assert f"Note: {WORDS}" in sheet


def test_a_retraction_that_is_found_later_is_shown_on_the_answers_of_before(
    library: App, request: pytest.FixtureRequest
) -> None:
    add(library, "102", "101")
    answer = library.ask(QUESTION)
    assert answer.notices == ()
    timer = LiteratureTimer(library)
    timer.look()  # they were looked at a moment ago
    assert library.library.notices([entry.id for entry in library.entries()]) == {}
    request.getfixturevalue("retracted")
    with Literature(library, scope=library.scope_of_owner()) as literature:
        outcomes = list(literature.check())
        assert [notice.text for outcome in outcomes for notice in outcome.new] == [WORDS]
        assert [notice.text for outcome in literature.check() for notice in outcome.new] == []
    service, owner = library.ask_service, library.owner()
    record = service.audit.read(answer.id, owner)
    assert record.words["answer"]["notices"] == []
    now = service.as_known_now(record).words["answer"]
    assert (now["action"], now["notices"][0]["kind"]) == ("QUALIFY", "retraction")
    assert now["reason"].startswith(WORDS)
    assert WORDS in exported(service.as_known_now(record), AnswerFormat.MARKDOWN).decode()
    replay = library.replay(answer.id)
    assert (replay.action_then, replay.action_now) == (answer_json(answer, with_withheld=False)["action"], "QUALIFY")
    document = next(entry for entry in library.entries() if entry.title == CLOSED.title)
    assert document.said_since == (WORDS,)
    library.delete(document.id)
    assert library.library.notices([document.id]) == {}
    assert library.literature.known(library.scope_of_owner())[0].title == OPEN.title


def test_the_worker_looks_again_when_it_is_time(
    indexes: Indexes, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = Settings(home=tmp_path / "home", **indexes.settings(literature_hours=1e-9))  # type: ignore[arg-type]
    with build(settings) as app:
        (outcome,) = add(app, "102")
        request.getfixturevalue("retracted")
        LiteratureTimer(app).look()
        assert [
            notice.kind for notice in app.library.notices([outcome.document_id or ""])[outcome.document_id or ""]
        ] == ["retraction"]
        indexes.dies_after = 0
        LiteratureTimer(app).look()  # nothing is forgotten where nobody responds
        assert app.library.notices([outcome.document_id or ""])
    assert [command[-1] for command in worker_commands(settings, 1)] == ["poll", "literature"]
    assert [command[-1] for command in worker_commands(Settings(home=tmp_path), 1)] == ["poll"]


def test_the_command_line_tells_of_retractions(shell: Shell, retracted: None) -> None:
    out = shell("literature", "add", "102")[1]
    assert f"    ! {WORDS}" in out
    assert f"Note: {WORDS}" in shell("ask", QUESTION)[1]
    document_id = shell.json("list")["documents"][0]["document_id"]
    assert f"note: {WORDS}" in shell("show", document_id)[1]
    assert shell.json("literature", "check") == {"checked": 1, "failed": 0, "new": []}
    assert shell("literature", "check")[1] == "1 checked\n"


def test_pages_and_api_show_a_retraction_on_answers_documents_and_exports(library: App, retracted: None) -> None:
    (outcome,) = add(library, "102")
    with serving_app(library) as client:
        answer = client.post("/api/v1/ask", json={"question": QUESTION}).json()
        assert [notice["text"] for notice in answer["notices"]] == [WORDS]
        page = client.get(f"/conversations/{answer['conversation_id']}").text
        assert f'<p class="reservation">{WORDS}' in page
        assert WORDS in client.get(f"/audit/{answer['id']}").text
        assert WORDS in client.get(f"/documents/{outcome.document_id}").text
        assert WORDS in client.get("/library").text
        assert WORDS in client.get(f"/api/v1/audit/{answer['id']}/export").text
        for format in ("ris", "bibtex", "csl-json"):
            told = client.get(f"/api/v1/audit/{answer['id']}/references", params={"format": format}).text
            assert "has been retracted" in told
        assert client.get(f"/api/v1/documents/{outcome.document_id}").json()["notices"][0]["kind"] == "retraction"
        chat = client.post(
            "/v1/chat/completions", json={"model": "citewell", "messages": [{"role": "user", "content": QUESTION}]}
        )
        assert "has been retracted" in chat.json()["choices"][0]["message"]["content"]


# ------------------------------------------------------------------------------------------ files of reference managers


RIS_FILE = """TY  - JOUR
TI  - Mint leaves for sore gums
AU  - Ängström, Ada B.
AU  - Gum Study Group
T2  - Journal of Invented Gums
PY  - 2020/03/09
VL  - 11
SP  - 5
EP  - 9
DO  - 10.1000/mint
AB  - Adults chew four mint leaves a day.
N2  - not this one
ER  -

TY  - JOUR
TI  - Salt water for sore gums
AN  - 102
DB  - PubMed
ER  -

TY  - JOUR
AB  - No title here.
ER  -

TY  - JOUR
TI  - Nothing but a title
"""
BIBTEX_FILE = r"""
@article{mint, title = {{Mint leaves \& gums}}, author = {{\"A}ngstr{\"o}m, Ada and {Gum Study Group}},
  journal = {J. Gums}, year = 2020, month = mar, pages = {5--9}, abstract = {Adults chew 50\% more mint.}}
@article{broken, title = {Cut
"""
CSL_FILE = json.dumps(
    [
        {
            "id": "mint",
            "title": "Mint leaves again",
            "author": [{"family": "Ängström", "given": "Ada"}, {"literal": "Gum Study Group"}],
            "container-title": "J. Gums",
            "issued": {"date-parts": [[2020, 3, 9]]},
            "abstract": "Adults chew five mint leaves a day.",
            "note": "PMID: 555\nread twice",
        },
        "not an item",
        {"title": ["odd"], "issued": {"date-parts": "x"}},
    ]
)


def zotero_library(path: Path) -> None:
    """A library file with the tables of Zotero that are read."""
    with closing(sqlite3.connect(path)) as made:
        made.executescript("""
            CREATE TABLE itemTypes (itemTypeID INTEGER PRIMARY KEY, typeName TEXT);
            CREATE TABLE items (itemID INTEGER PRIMARY KEY, itemTypeID INT);
            CREATE TABLE fields (fieldID INTEGER PRIMARY KEY, fieldName TEXT);
            CREATE TABLE itemDataValues (valueID INTEGER PRIMARY KEY, value);
            CREATE TABLE itemData (itemID INT, fieldID INT, valueID INT);
            CREATE TABLE creatorTypes (creatorTypeID INTEGER PRIMARY KEY, creatorType TEXT);
            CREATE TABLE creators (creatorID INTEGER PRIMARY KEY, firstName TEXT, lastName TEXT);
            CREATE TABLE itemCreators (itemID INT, creatorID INT, creatorTypeID INT, orderIndex INT);
            CREATE TABLE deletedItems (itemID INTEGER PRIMARY KEY);
            INSERT INTO itemTypes VALUES (1, 'journalArticle'), (2, 'attachment');
            INSERT INTO items VALUES (1, 1), (2, 2), (3, 1);
            INSERT INTO deletedItems VALUES (3);
            INSERT INTO fields VALUES (1, 'title'), (2, 'abstractNote'), (3, 'date'), (4, 'extra');
            INSERT INTO itemDataValues VALUES (1, 'Mint tea for gums'), (2, 'Adults drink mint tea twice a day.'),
                (3, '2019-07-00 July 2019'), (4, 'PMCID: PMC77'), (5, 'paper.pdf'), (6, 'Thrown away');
            INSERT INTO itemData VALUES (1, 1, 1), (1, 2, 2), (1, 3, 3), (1, 4, 4), (2, 1, 5), (3, 1, 6);
            INSERT INTO creatorTypes VALUES (1, 'author');
            INSERT INTO creators VALUES (1, 'Ada', 'Ängström');
            INSERT INTO itemCreators VALUES (1, 1, 1, 0);
        """)


def test_ris_comes_in_as_the_index_knows_it_or_as_the_file_says(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "refs.ris").write_text(RIS_FILE)
    told = shell.json("literature", "import", str(tmp_path / "refs.ris"), "--tag", "gums")
    assert [(one["asked"], one["state"]) for one in told["articles"]] == [
        ("Reference 3", "failed"),
        ("DOI 10.1000/mint", "added"),
        ("PMID 102", "added"),
        ("Nothing but a title", "failed"),
    ]
    assert told["articles"][0]["detail"] == "Reference 3 has no title."
    mint = shell.json("show", told["articles"][1]["document_id"], "--text")
    assert "Adults chew four mint leaves a day." in mint["text"]
    assert "Ada B. Ängström, Gum Study Group" in mint["text"]
    about = mint["document"]["metadata"]
    assert (about["published"], about["identifiers"]) == ("2020-03-09", [["doi", "10.1000/mint"]])
    salt = shell.json("show", told["articles"][2]["document_id"], "--text")
    assert "Adults rinse with salt water every hour." in salt["text"]
    again = shell.json("literature", "import", str(tmp_path / "refs.ris"))
    assert [one["state"] for one in again["articles"]] == ["known", "known", "failed", "failed"]
    to = tmp_path / "all.bib"
    assert shell("literature", "export", "--to", str(to), "--format", "bibtex")[1] == f"2 references saved to {to}.\n"
    written = bibtexparser.parse_string(to.read_text())
    assert {entry.fields_dict["title"].value for entry in written.entries} == {
        "{Mint leaves for sore gums}",
        "{Salt water for sore gums}",
    }


def test_bibtex_csl_and_zotero_are_read_where_nothing_may_be_fetched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(tmp_path / "home", capsys, monkeypatch)
    (tmp_path / "refs.bib").write_text(BIBTEX_FILE)
    (tmp_path / "refs.json").write_text(CSL_FILE)
    zotero_library(tmp_path / "zotero.sqlite")
    before = (tmp_path / "zotero.sqlite").read_bytes()
    files = [str(tmp_path / name) for name in ("refs.bib", "refs.json", "zotero.sqlite")]
    told = shell.json("literature", "import", *files)
    assert [(one["asked"], one["state"]) for one in told["articles"]] == [
        ("Reference 2", "failed"),
        ("Mint leaves & gums", "added"),
        ("Reference 2", "failed"),
        ("PMID 555", "added"),
        ("odd", "failed"),
        ("PMC77", "added"),
    ]
    assert told["articles"][1]["detail"] == "Abstract only. Nothing was fetched."
    texts = [shell.json("show", one["document_id"], "--text")["text"] for one in told["articles"] if one["title"]]
    assert "Adults chew 50% more mint." in texts[0]
    assert "Ada Ängström, Gum Study Group" in texts[0]
    assert "Adults chew five mint leaves a day." in texts[1]
    assert "Adults drink mint tea twice a day." in texts[2]
    assert (tmp_path / "zotero.sqlite").read_bytes() == before
    again = shell.json("literature", "import", *files)
    assert {one["state"] for one in again["articles"]} == {"failed", "known"}


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("a.txt", b"Just a letter.", "This is no file of references."),
        ("a.json", b'[{"title": "cut', "The CSL-JSON is incomplete or malformed."),
        ("a.json", b'{"rows": []}', "This is no file of references."),
        ("a.sqlite", b"SQLite format 3\0" + b"x" * 5_000, "The Zotero library could not be read."),
    ],
)
def test_a_file_that_holds_no_references_is_refused_in_a_sentence(
    shell: Shell, tmp_path: Path, name: str, data: bytes, told: str
) -> None:
    (tmp_path / name).write_bytes(data)
    (outcome,) = shell.json("literature", "import", str(tmp_path / name))["articles"]
    assert (outcome["asked"], outcome["detail"].startswith(told)) == (name, True)


# -------------------------------------------------------------------------------------------------------- saved queries


def test_a_saved_query_brings_what_is_new_and_says_what_that_is(shell: Shell, indexes: Indexes) -> None:
    shell("journeys", "add", "Gums")
    assert "No saved queries." in shell("literature", "list")[1]
    saved = shell.json("literature", "save", "Sore gums", "sore gums", "--tag", "dental", "--journey", "gums")["query"]
    assert (saved["source"], saved["tags"], saved["journeys"]) == ("pubmed", ["dental"], ["gums"])
    assert "not run yet" in shell("literature", "list")[1]
    first = shell.json("literature", "run", "Sore gums")["articles"]
    assert [one["state"] for one in first] == ["added", "added"]
    assert {tuple(one["journeys"]) for one in shell.json("list")["documents"]} == {("gums",)}
    assert shell.json("literature", "run")["articles"] == []
    indexes.papers.insert(0, Paper("109", "A new paste for sore gums"))
    out = shell("literature", "run")[1]
    assert "✓ PMID 109: A new paste for sore gums" in out
    told = shell("literature", "list")[1]
    assert "1 new of 3" in told
    assert "+ A new paste for sore gums" in told
    gone = next(one for one in shell.json("list")["documents"] if one["title"] == "A new paste for sore gums")
    shell("evidence", "delete", gone["document_id"], "--yes")
    assert shell.json("literature", "run")["articles"] == []  # what was erased does not come back
    kept = (shell.home / "library.sqlite").read_bytes()
    assert b"A new paste" not in kept
    assert b"PMID 109" not in kept
    assert shell.json("literature", "save", "a/b", "gums")["error"]["message"].startswith("Name the query with")
    assert shell.json("literature", "save", "x", "gums", "--journey", "none")["error"]["kind"] == "NotFound"
    assert shell.json("literature", "run", "none")["error"]["kind"] == "NotFound"
    assert shell.json("literature", "remove", "Sore gums") == {"removed": "Sore gums"}


def test_the_worker_runs_what_is_due_once_and_keeps_what_went_wrong(indexes: Indexes, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", **indexes.settings())  # type: ignore[arg-type]
    with build(settings) as app:
        app.literature.save(SavedQuery("local", "gums", "europepmc", "sore gums", saved_by="ann@clinic.example"))
        app.literature.save(SavedQuery("local", "wrong", "pubmed", "(gums"))
        woken: list[bool] = []
        timer = LiteratureTimer(app, lambda: woken.append(True))
        timer.look()
        assert len(woken) == 2
        entries = app.entries()
        assert {(entry.state, entry.added_by) for entry in entries} == {(LifecycleState.QUEUED, "ann@clinic.example")}
        gums, wrong = app.literature.saved("local")
        assert gums.last is not None
        assert [new.document_id for new in gums.last.new] == [
            next(entry.id for entry in entries if entry.id == new.document_id) for new in gums.last.new
        ]
        assert wrong.last is not None
        assert wrong.last.error == "PubMed could not run this query. Check its words and brackets."
        drain(app)
        assert {entry.state for entry in app.entries()} == {LifecycleState.COMPLETED}
        asked = len(indexes.asked)
        timer.look()  # nothing is due
        assert len(indexes.asked) == asked
        app.literature.make_due(gums)
        timer.look()
        assert len(app.entries()) == 2


def test_a_run_that_broke_off_goes_on_where_it_was(library: App, indexes: Indexes) -> None:
    saved = SavedQuery("local", "gums", "pubmed", "sore gums")
    library.literature.save(saved)
    put = lambda source, filing: library.add_source(source, filing=filing)  # noqa: E731
    with Literature(library, scope=library.scope_of_owner(), put=put) as literature:
        running = literature.run(saved)
        assert next(running).state == "added"
        running.close()
        (kept,) = library.literature.saved("local")
        assert kept.last is not None
        assert len(kept.last.new) == 1
        assert [outcome.state for outcome in literature.run(saved)] == ["added"]
        indexes.dies_after = 0
        indexes.papers.append(Paper("110", "Another paste for sore gums"))
        with pytest.raises(Unavailable):
            list(literature.run(saved))
    (kept,) = library.literature.saved("local")
    assert kept.last is not None
    assert kept.last.error == "PubMed does not respond. Nothing was lost. Try again later to continue."


# ------------------------------------------------------------------------------------------------- the API and the page


@contextmanager
def browser(app: App) -> Iterator[httpx.Client]:
    """Whoever opened the printed link, with a cookie instead of a key."""
    with serving_app(app) as client:
        address = str(client.base_url)
        with httpx.Client(base_url=address, timeout=60, follow_redirects=True, headers={"Origin": address}) as page:
            assert page.get(f"/?token={TOKEN}").status_code == 200
            yield page


@pytest.fixture
def editor(library: App) -> Iterator[tuple[httpx.Client, httpx.Client]]:
    """The owner of a server that may fetch, and an editor of the dental tag."""
    user = library.people.add(
        tenant="local", email="ed@clinic.example", name="", role=Role.EDITOR, tags=("dental",), password=None
    )
    _, key = library.people.add_key(user.id, tenant="local", name="tests")
    with serving_app(library) as owner:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=owner.base_url, headers=headers, timeout=60) as editor:
            yield owner, editor


def until_ready(client: httpx.Client, document_id: str) -> dict[str, Any]:
    while True:
        told: dict[str, Any] = client.get(f"/api/v1/documents/{document_id}").json()
        if told["state"] in ("completed", "failed"):
            return told
        time.sleep(0.05)


def test_the_api_adds_searches_and_exports_within_what_is_the_visitors(
    editor: tuple[httpx.Client, httpx.Client], indexes: Indexes
) -> None:
    owner, dental = editor
    refused = dental.post("/api/v1/literature", json={"ids": ["102"]})
    assert refused.status_code == 403
    assert indexes.asked == []
    told = dental.post("/api/v1/literature", json={"ids": ["102", "zinc"], "tags": ["dental"]}).json()
    assert (told["failed"], [one["state"] for one in told["articles"]]) == (1, ["failed", "added"])
    ready = until_ready(dental, told["articles"][1]["document_id"])
    assert (ready["title"], ready["tags"], ready["added_by"]) == (CLOSED.title, ["dental"], "ed@clinic.example")
    found = owner.get("/api/v1/literature/search", params={"query": "sore gums"}).json()
    assert [(one["id"], one["document_id"] is not None) for one in found["articles"]] == [
        ("PMID 101", False),
        ("PMID 102", True),
    ]
    assert rispy.loads(dental.get("/api/v1/literature/references").text)[0]["title"] == CLOSED.title
    files = {"files": ("refs.ris", RIS_FILE)}
    taken = dental.post("/api/v1/literature/import", files=files, data={"tags": "dental"}).json()
    assert [one["state"] for one in taken["articles"]] == ["known", "failed", "added", "failed"]
    until_ready(dental, taken["articles"][2]["document_id"])
    indexes.zotero = [
        {"id": f"z{number}", "title": f"Mint {number}", "abstract": f"Adults chew {number} leaves."}
        for number in range(102)
    ]
    many = owner.post("/api/v1/literature/zotero", json={"library": "users/7"}).json()
    assert (len(many["articles"]), many["failed"]) == (102, 0)
    assert owner.post("/api/v1/literature/zotero", json={"library": "users/7/../x"}).status_code == 422
    assert owner.get("/api/v1/literature/search", params={"query": "(gums"}).status_code == 422


def test_saved_queries_over_the_api_run_beside_other_work(
    editor: tuple[httpx.Client, httpx.Client], indexes: Indexes
) -> None:
    owner, dental = editor
    assert dental.post("/api/v1/queries", json={"name": "gums", "query": "sore gums"}).status_code == 403
    saved = owner.post("/api/v1/queries", json={"name": "sore gums", "query": "sore gums", "tags": ["dental"]})
    assert (saved.status_code, saved.json()["source"]) == (201, "pubmed")
    while (last := owner.get("/api/v1/queries").json()["queries"][0]["last"]) is None:
        time.sleep(0.05)
    assert (last["total"], {new["title"] for new in last["new"]}) == (2, {OPEN.title, CLOSED.title})
    indexes.papers.insert(0, Paper("109", "A new paste for sore gums"))
    assert owner.post("/api/v1/queries/sore gums/run").status_code == 202
    while (now := owner.get("/api/v1/queries").json()["queries"][0]["last"]) == last:
        time.sleep(0.05)
    assert [new["title"] for new in now["new"]] == ["A new paste for sore gums"]
    assert owner.delete("/api/v1/queries/sore gums").json() == {"name": "sore gums", "done": "removed"}
    assert owner.post("/api/v1/queries/sore gums/run").status_code == 404


def test_the_page_adds_searches_imports_and_saves(library: App, indexes: Indexes) -> None:
    with browser(library) as client:
        library_page = client.get("/library").text
        assert "Add from PubMed" in library_page
        assert "Nothing leaves it" not in library_page
        csrf = re.findall(r'name="csrf" value="([^"]+)"', client.get("/literature").text)[0]
        page = client.post("/literature", data={"csrf": csrf, "ids": "PMID: 101, zinc"}).text
        assert f">{OPEN.title}</a>" in page
        assert "Queued. Full text." in page
        assert "Not added. “zinc” is not a PMID" in page
        found = client.get("/literature", params={"query": "sore gums"}).text
        assert '<input type="checkbox" name="id" value="102">' in found
        assert "2 found" in found
        assert "PubMed could not run this query." in client.get("/literature", params={"query": "(gums"}).text
        assert "Abstract only." in client.post("/literature", data={"csrf": csrf, "id": ["102"]}).text
        files = {"files": ("refs.ris", RIS_FILE)}
        assert "Reference 3 has no title." in client.post("/literature/import", data={"csrf": csrf}, files=files).text
        form = {"csrf": csrf, "name": "Gums", "query": "gums", "source": "europepmc"}
        assert client.post("/literature/queries", data=form).status_code == 200
        assert "<h3>Gums</h3>" in client.get("/literature").text
        assert client.post("/literature/queries", data={**form, "journeys": "none"}).status_code == 404
        assert client.post("/literature/queries/remove", data={"csrf": csrf, "name": "Gums"}).status_code == 200
        assert "No saved queries." in client.get("/literature").text
        assert client.post("/literature", data={"ids": "101"}).status_code == 403


def test_a_page_where_nothing_may_be_fetched_says_so(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path / "home")) as app, browser(app) as client:
        library_page = client.get("/library").text
        assert "Add from PubMed" not in library_page
        assert "Nothing leaves it" in library_page
        page = client.get("/literature").text
        assert "Fetching from PubMed and Europe PMC is switched off. Allow it with CITEWELL_LITERATURE." in page
        assert "Add by ID" not in page


def test_a_silent_index_takes_no_turn_from_other_requests(indexes: Indexes, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home", max_active=1, **indexes.settings())  # type: ignore[arg-type]
    with build(settings) as app, serving_app(app) as client, ThreadPoolExecutor(3) as waiting:
        client.get("/api/v1/documents")
        indexes.holds = threading.Event()
        asked = [waiting.submit(client.get, "/api/v1/literature/search?query=gums") for _ in range(3)]
        while not indexes.asked:
            time.sleep(0.01)
        assert client.get("/api/v1/documents").status_code == 200
        assert not any(one.done() for one in asked)
        indexes.holds.set()
        assert {one.result().status_code for one in asked} == {200}
