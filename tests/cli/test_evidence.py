"""`citewell evidence` as a content manager uses it: each command and its JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.app import build
from citewell.config import Settings
from citewell.types import Filing, Source
from tests.cli.test_cli import Shell, leaflet, shell  # noqa: F401 -- fixtures
from tests.faults.churn import Hashes


class Embedder(Hashes):
    """What the settings choose, as far as these tests go."""

    def __init__(self, name: str) -> None:
        self.fingerprint = f"{name}:8"


def choose(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Set the embedder of all commands that follow."""
    monkeypatch.setattr("citewell.app.make_embedder", lambda _settings: Embedder(name))


def test_a_document_is_read_withdrawn_brought_back_and_erased(
    shell: Shell,  # noqa: F811
    leaflet: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose(monkeypatch, "first")
    with build(Settings(home=shell.home)) as app:
        bad = app.library.enqueue(Source(b"\x00\x01", "x.bin"), filing=Filing(), scope=app.scope_of_owner())
    (added,) = shell.json("add", str(leaflet))["added"]
    document_id = added["document_id"]
    told = shell.json("evidence", "list")
    assert [one["state"] for one in told["documents"]] == ["completed", "queued"]
    assert (told["queue"]["states"]["queued"], told["queue"]["workers"]) == (1, [])
    status, out, _ = shell("evidence", "ingest", bad.id[:8])
    assert (status, "failed, version 1, not in use" in out, "error:" in out) == (1, True, True)
    assert [one["document_id"] for one in shell.json("evidence", "list", "--state", "failed")["documents"]] == [bad.id]
    assert shell.json("evidence", "withdraw", document_id)["document"]["state"] == "withdrawn"
    assert shell.json("search", "tablets")["hits"] == []
    assert shell.json("evidence", "ingest", document_id)["document"]["state"] == "completed"
    again = shell.json("evidence", "ingest", document_id)["document"]
    assert (again["state"], again["rework"], again["error"]) == ("completed", None, None)
    assert shell.json("evidence", "show", document_id)["document"]["revision"] == again["revision"]
    shown = shell("evidence", "show", document_id)[1]
    assert ("tags: public; journeys: all" in shown, "by first:8" in shown) == (True, True)
    assert shell.json("evidence", "verify")["ok"] is True
    assert shell.json("evidence", "delete", document_id)["deleted"] == [{"document_id": document_id, "version": 1}]
    changes = [one["change"] for one in shell.json("evidence", "history", document_id)["history"]]
    assert changes[:5] == ["added", "processing", "completed", "withdrawn", "completed"]
    assert changes[5:] == ["reread queued", "rereading", "reread", "erased"]
    status, out, _ = shell("evidence", "history", document_id)
    assert (status, len(out.splitlines())) == (0, 9)


def test_another_embedder_takes_over_when_every_document_has_its_vectors(
    shell: Shell,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose(monkeypatch, "first")
    for name in ("iron", "zinc", "gout"):
        (tmp_path / f"{name}.md").write_text(f"# {name}\n\nTake {name} daily.")
        shell("add", str(tmp_path / f"{name}.md"))
    choose(monkeypatch, "second")
    status, _, error = shell("search", "iron")
    assert (status, "citewell evidence reingest" in error) == (1, True)
    dry = shell.json("evidence", "reingest", "--dry-run")
    assert (len(dry["documents"]), dry["was"], dry["embedder"]) == (3, "first:8", "second:8")
    refused = shell.json("evidence", "reingest", "--document-id", dry["documents"][0][:8])
    assert refused["error"]["kind"] == "EmbedderMismatch"

    class Stopping(Embedder):
        left = 2

        def embed(self, texts, *, progress=None):  # type: ignore[no-untyped-def]
            if not Stopping.left:
                raise KeyboardInterrupt
            Stopping.left -= 1
            return super().embed(texts)

    monkeypatch.setattr("citewell.app.make_embedder", lambda _settings: Stopping("second"))
    assert shell("evidence", "reingest")[0] == 130
    choose(monkeypatch, "first")
    assert shell.json("search", "iron")["hits"], "the old vectors answer until the end"
    choose(monkeypatch, "second")
    rest = shell.json("evidence", "reingest", "--cleanup")
    assert (len(rest["documents"]), rest["failed"], rest["answers_with"]) == (1, [], "second:8")
    assert shell.json("search", "iron")["hits"]
    assert shell.json("evidence", "verify")["ok"] is True
    one = shell.json("evidence", "reingest", "--document-id", dry["documents"][0], "--sync")
    assert (one["documents"], one["failed"], one["queued"]) == ([dry["documents"][0]], [], False)


def test_what_waits_for_its_next_attempt_is_read_at_once_where_somebody_asks_and_says_why_it_could_not_be(
    shell: Shell,  # noqa: F811
    leaflet: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choose(monkeypatch, "first")
    monkeypatch.setenv("CITEWELL_BLOBS", str(tmp_path / "papers"))
    (added,) = shell.json("add", str(leaflet))["added"]
    monkeypatch.delenv("CITEWELL_BLOBS")
    status, out, _ = shell("evidence", "reingest", "--document-id", added["document_id"], "--sync")
    assert (status, out.splitlines()[0].startswith("0 of 1 document version re-processed")) == (1, True)
    assert "Set CITEWELL_BLOBS to that and try again." in out
    assert "Set CITEWELL_BLOBS to that" in shell("evidence", "list")[1]
    monkeypatch.setenv("CITEWELL_BLOBS", str(tmp_path / "papers"))
    again = shell.json("evidence", "reingest", "--document-id", added["document_id"], "--sync")
    assert again["failed"] == []
    assert shell.json("evidence", "show", added["document_id"])["document"]["error"] is None


def test_a_broker_that_is_no_redis_is_refused_before_a_document_is_taken_in(
    shell: Shell,  # noqa: F811
    leaflet: Path,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CITEWELL_BROKER_URL", "queue.example")
    status, _, error = shell("add", str(leaflet))
    assert (status, error.strip()) == (
        1,
        "CITEWELL_BROKER_URL is not a Redis address. Write it as redis://host:6379/0.",
    )
