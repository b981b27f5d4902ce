"""Stores of original files outside of the library, each held to the same promises; S3 against a real server."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from citewell.adapters.blobs.folder import FolderBlobs
from citewell.adapters.blobs.s3 import S3Blobs
from citewell.adapters.store import original_files as originals
from citewell.adapters.store.library import SqlLibrary
from citewell.app import build
from citewell.config import Settings
from citewell.errors import BlobsUnavailable, DiskFull, LibraryError, NotFound
from citewell.ingest.library_changes import add
from citewell.ingest.parse_cut_embed import FileReader
from citewell.ingest.worker import Worker
from citewell.ports.blobs import Blobs
from citewell.types import Filing, LifecycleState, Scope, Source
from tests.contracts.schemas import make_schema

OWNER = Scope.owner("clinic")
IRON = Source(b"Iron\n\nFerrous sulfate 200 mg is taken with water.", "iron.txt")
KEYS = {"key": "a", "secret": "b"}


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """A server that speaks S3, with one bucket."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    names = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    boto3.client("s3", endpoint_url=url, **names).create_bucket(Bucket="papers")
    yield url
    server.stop()


@pytest.fixture(params=["folder", "s3"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    if request.param == "folder":
        return FolderBlobs(tmp_path / "papers")
    prefix = f"s3://papers/{tmp_path.name}"
    return S3Blobs(prefix, url=request.getfixturevalue("s3_url"), **KEYS)


@pytest.fixture
def library(tmp_path: Path, blobs: Blobs) -> Iterator[SqlLibrary]:
    made = SqlLibrary(tmp_path / "library.sqlite")
    made.blobs = blobs
    yield made
    made.close()


def kept(blobs: Blobs) -> list[str]:
    """The names of all files in a store."""
    if isinstance(blobs, FolderBlobs):
        return sorted(str(path.relative_to(blobs._folder)) for path in blobs._folder.rglob("*") if path.is_file())
    assert isinstance(blobs, S3Blobs)
    found = blobs._client.list_objects_v2(Bucket=blobs._bucket, Prefix=f"{blobs._prefix}/").get("Contents", ())
    return sorted(one["Key"].removeprefix(f"{blobs._prefix}/") for one in found)


def test_what_is_put_is_there_until_it_is_removed(blobs: Blobs) -> None:
    key = "aa/bb/cc"
    blobs.put(key, b"word")
    blobs.put(key, b"words")
    assert (blobs.get(key), kept(blobs)) == (b"words", [key])
    blobs.remove(key)
    blobs.remove(key)
    assert kept(blobs) == []
    with pytest.raises(NotFound, match="missing from storage"):
        blobs.get(key)


def test_a_library_keeps_its_originals_there_and_erases_them_there(
    library: SqlLibrary, blobs: Blobs, reader: FileReader, tmp_path: Path
) -> None:
    added = add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader).entry
    queued = library.enqueue(Source(b"Zinc\n\nTake 10 mg.", "zinc.txt"), filing=Filing(), scope=OWNER)
    claim = library.claim("me")
    assert claim is not None
    assert claim.source.data.startswith(b"Zinc")
    library.put_back(queued.id, "me")
    assert library.original(added.id, OWNER) == IRON
    assert len(kept(blobs)) == 2
    assert IRON.data not in (tmp_path / "library.sqlite").read_bytes(), "it is kept once, and not here"
    library.enqueue(IRON, filing=Filing(replaces=added.id), scope=OWNER)
    assert len(kept(blobs)) == 2, "the same bytes are kept once"
    library.erase(added.id, OWNER)
    library.erase(queued.id, OWNER)
    assert kept(blobs) == []
    assert library.verify().problems == ()


def test_where_a_shared_folder_is_not_mounted_a_document_waits_for_a_machine_that_has_it(
    tmp_path: Path, reader: FileReader
) -> None:
    with closing(SqlLibrary(tmp_path / "library.sqlite")) as library:
        library.blobs = FolderBlobs(tmp_path / "papers")
        queued = library.enqueue(IRON, filing=Filing(), scope=OWNER)
        (tmp_path / "empty").mkdir()
        library.blobs = FolderBlobs(tmp_path / "empty")
        assert Worker(library, reader).work()
        waits = library.entry(queued.id, OWNER)
        assert (waits.state, waits.next_attempt_at is not None) == (LifecycleState.QUEUED, True)
        assert "it is mounted" in (waits.error or "")
        library.blobs = FolderBlobs(tmp_path / "papers")
        library.requeue(queued.id, OWNER, by="owner")
        assert Worker(library, reader).work()
        assert library.entry(queued.id, OWNER).state is LifecycleState.COMPLETED


class Crash(BaseException):
    """The process ends."""


def test_cleaning_up_removes_what_this_library_left_there_a_day_ago_and_nothing_else(
    library: SqlLibrary, blobs: Blobs, reader: FileReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = SqlLibrary(tmp_path / "other.sqlite")
    other.blobs = blobs
    theirs = add(IRON, filing=Filing(), scope=OWNER, library=other, reader=reader).entry
    blobs.put("photos/2024/img.jpg", b"a picture")
    add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader)
    before = kept(blobs)
    with monkeypatch.context() as here:
        here.setattr(library, "_insert", raising(Crash))
        here.setattr(library, "_remove_outside", raising(Crash))
        with pytest.raises(Crash):
            library.enqueue(Source(b"Zinc\n\nTake 10 mg.", "zinc.txt"), filing=Filing(), scope=OWNER)
    assert len(kept(blobs)) == len(before) + 1
    assert (library.verify().problems, library.clean_up()) == ((), 0), "it may be on its way in"
    monkeypatch.setattr(originals, "SETTLED", timedelta(seconds=-1))
    assert any("1 files that this library put" in problem for problem in library.verify().problems)
    assert (library.clean_up(), library.verify().problems, kept(blobs)) == (1, (), before)
    assert other.original(theirs.id, OWNER) == IRON
    other.close()


def raising(error: type[BaseException]) -> Callable[..., None]:
    def fail(*_given: object, **_named: object) -> None:
        raise error

    return fail


def test_a_file_that_comes_while_its_twin_is_erased_or_leftovers_are_removed_is_kept(
    library: SqlLibrary, blobs: Blobs, reader: FileReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader).entry
    put = blobs.put

    def meanwhile(key: str, data: bytes) -> None:
        put(key, data)
        monkeypatch.undo()
        library.erase(twin.id, OWNER)
        library.clean_up()

    monkeypatch.setattr(blobs, "put", meanwhile)
    queued = library.enqueue(IRON, filing=Filing(), scope=OWNER)
    assert library.original(queued.id, OWNER) == IRON
    assert (len(kept(blobs)), library.verify().problems) == (1, ())


def test_a_file_goes_only_once_its_erasing_is_for_good_and_is_told_of_while_it_stays(
    library: SqlLibrary, blobs: Blobs, reader: FileReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader).entry
    with monkeypatch.context() as here:
        here.setattr(library, "_touch", raising(Crash))
        with pytest.raises(Crash):
            library.erase(entry.id, OWNER)
    assert library.original(entry.id, OWNER) == IRON, "nothing was committed, so nothing is gone"
    with monkeypatch.context() as here:
        here.setattr(blobs, "remove", raising(BlobsUnavailable))
        with pytest.raises(
            BlobsUnavailable, match=r"erased from the library, but its file is still in external storage"
        ):
            library.erase(entry.id, OWNER)
    assert library.entries(OWNER) == []
    assert any("belong to no document" in problem for problem in library.verify().problems)
    assert (library.clean_up(), kept(blobs), library.verify().problems) == (1, [], ())


def test_files_that_were_kept_before_each_had_a_key_of_its_own_are_read_and_erased(tmp_path: Path) -> None:
    path, blobs = tmp_path / "library.sqlite", FolderBlobs(tmp_path / "papers")
    engine = create_engine(f"sqlite:///{path}")
    content_hash = hashlib.sha256(IRON.data).hexdigest()
    tenant = hashlib.sha256(b"clinic").hexdigest()[:16]
    with engine.begin() as connection:
        make_schema(connection, "0011")
        connection.execute(text(f"INSERT INTO originals VALUES ('clinic', '{content_hash}', '', 'folder')"))
        row = {"id": "d", "tenant": "clinic", "lineage": "d", "version": 1, "is_current": False, "state": "failed"}
        row |= {"name": "iron.txt", "title": "Iron", "media_type": "", "content_hash": content_hash, "size_bytes": 49}
        row |= {"page_count": 0, "identifiers": "[]", "notes": "[]", "added_at": "2026-01-01 00:00:00", "attempts": 1}
        row |= {"chunk_strategy": "sections", "chunk_size": 500, "chunk_overlap": 0, "chunk_unit": "tokens"}
        names = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO documents ({', '.join(row)}) VALUES ({names})"), row)
    engine.dispose()
    blobs.put(f"{tenant}/{content_hash[:2]}/{content_hash}", IRON.data)
    library = SqlLibrary(path)
    library.blobs = blobs
    assert library.original("d", OWNER) == IRON
    library.erase("d", OWNER)
    assert kept(blobs) == []
    library.close()


def test_a_lost_original_is_found_by_verify_and_another_store_is_named(
    library: SqlLibrary, blobs: Blobs, reader: FileReader, tmp_path: Path
) -> None:
    entry = add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader).entry
    library.blobs = None
    with pytest.raises(LibraryError, match="Set CITEWELL_BLOBS to that"):
        library.original(entry.id, OWNER)
    with pytest.raises(LibraryError, match="Set CITEWELL_BLOBS to that"):
        library.erase(entry.id, OWNER)
    assert library.entry(entry.id, OWNER).state is LifecycleState.COMPLETED, "what is not erased is not said to be"
    library.blobs = blobs
    for key in kept(blobs):
        blobs.remove(key)
    assert any("original file is missing" in problem for problem in library.verify().problems)


def test_a_store_that_does_not_answer_is_one_sentence_and_nothing_is_half_there(tmp_path: Path, s3_url: str) -> None:
    library = SqlLibrary(tmp_path / "library.sqlite")
    for store in (
        S3Blobs("s3://papers", url="http://127.0.0.1:9", **KEYS),
        S3Blobs("s3://no-such-bucket", url=s3_url, **KEYS),
        FolderBlobs(Path("/proc/nowhere")),
    ):
        library.blobs = store
        with pytest.raises(BlobsUnavailable, match="Nothing was changed"):
            library.enqueue(IRON, filing=Filing(), scope=OWNER)
    assert library.entries(OWNER) == []
    library.close()


def test_a_full_store_is_one_sentence_and_nothing_is_half_there(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)]
    is_root = os.geteuid() == 0 and shutil.which("mount") is not None
    if not is_root or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        settings = Settings(home=tmp_path / "home", blobs=str(disk))
        with build(settings) as app:
            small = app.library.enqueue(IRON, filing=Filing(), scope=OWNER)
            with pytest.raises(DiskFull, match="Free some space there"):
                app.library.enqueue(Source(bytes(range(256)) * 1024, "large.bin"), filing=Filing(), scope=OWNER)
            assert [entry.id for entry in app.library.entries(OWNER)] == [small.id]
            assert app.library.verify().problems == (), "no draft is left either"
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_store_that_says_it_is_full_is_told_as_full(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.exceptions import ClientError

    store = S3Blobs("s3://papers", url=s3_url, **KEYS)
    full = ClientError(
        {"Error": {"Code": "XMinioStorageFull"}, "ResponseMetadata": {"HTTPStatusCode": 507}}, "PutObject"
    )

    def refuse(**_given: object) -> None:
        raise full

    monkeypatch.setattr(store._client, "put_object", refuse)
    with pytest.raises(DiskFull, match="Free some space there"):
        store.put("aa/bb/cc", b"words")
