"""Stores of original files outside of the library, each held to the same promises; S3 against a real server."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.adapters.blobs.folder import FolderBlobs
from citewell.adapters.blobs.s3 import S3Blobs
from citewell.adapters.store.library import SqlLibrary
from citewell.bootstrap import build
from citewell.config import Settings
from citewell.errors import BlobsUnavailable, DiskFull, LibraryError, NotFound
from citewell.ingest.library import add
from citewell.ingest.read import Reader
from citewell.ports.blobs import Blobs
from citewell.types import Filing, Scope, Source, State

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


def test_what_is_put_is_there_until_it_is_removed(blobs: Blobs) -> None:
    key = "aa/bb/cc"
    blobs.put(key, b"words")
    blobs.put(key, b"words")
    assert (blobs.get(key), list(blobs.keys())) == (b"words", [key])
    blobs.remove(key)
    blobs.remove(key)
    assert list(blobs.keys()) == []
    with pytest.raises(NotFound, match="missing in the store"):
        blobs.get(key)


def test_a_library_keeps_its_originals_there_and_erases_them_there(
    library: SqlLibrary, blobs: Blobs, reader: Reader, tmp_path: Path
) -> None:
    added = add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader).entry
    queued = library.enqueue(Source(b"Zinc\n\nTake 10 mg.", "zinc.txt"), filing=Filing(), scope=OWNER)
    claim = library.claim("me")
    assert claim is not None
    assert claim.source.data.startswith(b"Zinc")
    library.put_back(queued.id, "me")
    assert library.original(added.id, OWNER) == IRON
    assert len(list(blobs.keys())) == 2
    assert IRON.data not in (tmp_path / "library.sqlite").read_bytes(), "it is kept once, and not here"
    blobs.put("aa/bb/left-by-a-crash", b"half")
    assert [problem for problem in library.verify().problems if "belong to no document" in problem]
    assert library.clean_up() == 1
    assert library.verify().problems == ()
    library.erase(added.id, OWNER)
    library.erase(queued.id, OWNER)
    assert list(blobs.keys()) == []
    assert library.verify().problems == ()


def test_a_lost_original_is_found_by_verify_and_another_store_is_named(
    library: SqlLibrary, blobs: Blobs, reader: Reader, tmp_path: Path
) -> None:
    entry = add(IRON, filing=Filing(), scope=OWNER, library=library, reader=reader).entry
    library.blobs = None
    with pytest.raises(LibraryError, match="Set CITEWELL_BLOBS to that one"):
        library.original(entry.id, OWNER)
    with pytest.raises(LibraryError, match="Set CITEWELL_BLOBS to that one"):
        library.erase(entry.id, OWNER)
    assert library.entry(entry.id, OWNER).state is State.COMPLETED, "what is not erased is not said to be"
    library.blobs = blobs
    for key in list(blobs.keys()):
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
            with pytest.raises(DiskFull, match="free some space there"):
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
    with pytest.raises(DiskFull, match="make room there"):
        store.put("aa/bb/cc", b"words")
