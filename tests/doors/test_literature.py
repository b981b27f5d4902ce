"""Articles from PubMed and Europe PMC, served by this machine in their public shapes: whole, once, never in part."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.literature import clients
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import DoesNotFit, InputError
from citewell.operations.literature import ImportOutcome, Literature
from citewell.types import OWNER_ID, Filing, LifecycleState
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
    assert bare.detail == "PMID 103 has neither an abstract nor an open-access full text, so there is nothing to add."
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
