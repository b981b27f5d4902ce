"""Watched S3 prefixes and WebDAV collections, against real servers on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydantic import SecretStr

from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import InputError, Unavailable
from citewell.operations.watch import look_at_all, watch_folder
from citewell.types.watched import WatchedFolder

IRON = b"Ferrous sulfate 200 mg is taken with water."
ZINC = b"Zinc 20 mg is given once a day for 10 days."


def look(app: App) -> WatchedFolder:
    (looked,) = look_at_all(app)
    return looked


def words(looked: WatchedFolder) -> str:
    assert looked.look is not None, looked.problem
    return looked.look.words


def states(app: App) -> dict[str, tuple[str, int]]:
    newest = sorted(app.entries(), key=lambda entry: entry.version)
    return {entry.name: (entry.state.value, entry.version) for entry in newest}


# ----------------------------------------------------------------------------------------------------------------- S3


@pytest.fixture(scope="module")
def s3_url() -> Iterator[str]:
    """A server that speaks S3."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_url: str, tmp_path: Path) -> Any:
    import boto3

    names = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
    client = boto3.client("s3", endpoint_url=s3_url, **names)
    client.create_bucket(Bucket="papers")
    for found in client.list_objects_v2(Bucket="papers").get("Contents", ()):
        client.delete_object(Bucket="papers", Key=found["Key"])
    return client


@pytest.fixture
def s3_app(s3_url: str, tmp_path: Path) -> Iterator[App]:
    logins = {"s3://papers": SecretStr("a:b")}
    with build(Settings(home=tmp_path / "home", watch_s3_url=s3_url, watch_logins=logins)) as made:
        yield made


def test_a_prefix_is_followed_like_a_folder(s3_app: App, bucket: Any) -> None:
    for key, data in (
        ("ward/iron.txt", IRON),
        ("ward/a/zinc.txt", ZINC),
        ("other/no.txt", b"Not ours."),
        ("ward/", b""),
    ):
        bucket.put_object(Bucket="papers", Key=key, Body=data)
    watch_folder(s3_app, "s3://papers/ward/", tags=frozenset({"ward"}), rules=("a=zinc",))
    assert words(look(s3_app)) == "2 added"
    assert words(look(s3_app)) == "nothing new"
    assert {entry.name: entry.tags for entry in s3_app.entries()} == {"iron.txt": ("ward",), "zinc.txt": ("zinc",)}
    bucket.put_object(Bucket="papers", Key="ward/iron.txt", Body=IRON + b" Keep it dry.")
    bucket.copy_object(Bucket="papers", Key="ward/zinc.txt", CopySource="papers/ward/a/zinc.txt")
    bucket.delete_object(Bucket="papers", Key="ward/a/zinc.txt")
    assert words(look(s3_app)) == "1 changed, 1 moved"
    bucket.delete_object(Bucket="papers", Key="ward/zinc.txt")
    assert words(look(s3_app)) == "1 withdrawn"
    assert states(s3_app) == {"iron.txt": ("completed", 2), "zinc.txt": ("withdrawn", 1)}
    bucket.delete_object(Bucket="papers", Key="ward/iron.txt")
    assert (look(s3_app).problem or "").startswith("1 of 1 files are gone")


def test_more_objects_than_a_page_holds_are_all_seen(s3_app: App, bucket: Any) -> None:
    from citewell.wiring import make_folder

    for number in range(1_050):
        bucket.put_object(Bucket="papers", Key=f"many/{number}.txt", Body=b"x")
    assert len(make_folder(s3_app.settings, "s3://papers/many").listing().files) == 1_050


def test_an_object_that_changed_since_it_was_listed_waits(s3_app: App, bucket: Any) -> None:
    from citewell.wiring import make_folder

    bucket.put_object(Bucket="papers", Key="ward/iron.txt", Body=IRON)
    folder = make_folder(s3_app.settings, "s3://papers/ward")
    (listed,) = folder.listing().files
    bucket.put_object(Bucket="papers", Key="ward/iron.txt", Body=ZINC)
    assert folder.read(listed) is None
    bucket.delete_object(Bucket="papers", Key="ward/iron.txt")
    assert folder.read(listed) is None


def test_a_bucket_that_is_not_there_or_not_answering_is_told(
    s3_app: App, bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(Unavailable, match="There is no login for s3://nowhere/ward"):
        watch_folder(s3_app, "s3://nowhere/ward", tags=frozenset())
    watch_folder(s3_app, "s3://papers/ward", tags=frozenset())
    bucket.delete_bucket(Bucket="papers")
    assert "refused the request (NoSuchBucket)" in (look(s3_app).problem or "")
    silent = s3_app.settings.model_copy(update={"watch_s3_url": "http://127.0.0.1:9"})
    with build(silent) as other:
        assert "s3://papers/ward is not responding" in (look(other).problem or "")


# ------------------------------------------------------------------------------------------------------------- WebDAV


@pytest.fixture
def dav(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A real WebDAV server over a folder, for one user."""
    from cheroot.wsgi import Server
    from wsgidav.wsgidav_app import WsgiDAVApp

    folder = tmp_path / "shared"
    folder.mkdir()
    users = {"*": {"citewell": {"password": "pass:word"}}}
    served = WsgiDAVApp(
        {"provider_mapping": {"/dav": str(folder)}, "simple_dc": {"user_mapping": users}, "verbose": 0, "logging": {}}
    )
    server = Server(("127.0.0.1", 0), served)
    server.prepare()
    thread = Thread(target=server.serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.bind_addr[1]}/dav", folder
    server.stop()
    thread.join()


@pytest.fixture
def dav_app(dav: tuple[str, Path], tmp_path: Path) -> Iterator[App]:
    logins = {dav[0]: SecretStr("citewell:pass:word")}
    with build(Settings(home=tmp_path / "home", watch_logins=logins, watch_settle_s=0)) as made:
        yield made


def test_a_collection_is_followed_like_a_folder(dav_app: App, dav: tuple[str, Path]) -> None:
    address, folder = dav
    (folder / "Übergabe 5 %" / "x").mkdir(parents=True)
    (folder / "iron.txt").write_bytes(IRON)
    (folder / "Übergabe 5 %" / "x" / "zinc #1.txt").write_bytes(ZINC)
    (folder / "half.part").write_bytes(b"x")
    watch_folder(dav_app, f"{address}/", tags=frozenset({"ward"}))
    looked = look(dav_app)
    assert (words(looked), looked.look and looked.look.skipped) == ("2 added", {"half.part": "a temporary file"})
    assert words(look(dav_app)) == "nothing new"
    (folder / "iron.txt").write_bytes(IRON + b" Keep it dry.")
    (folder / "Übergabe 5 %" / "x" / "zinc #1.txt").rename(folder / "zinc.txt")
    assert words(look(dav_app)) == "1 changed, 1 moved"
    (folder / "zinc.txt").unlink()
    assert words(look(dav_app)) == "1 withdrawn"
    assert states(dav_app) == {"iron.txt": ("completed", 2), "zinc #1.txt": ("withdrawn", 1)}


def test_a_server_that_refuses_or_is_gone_withdraws_nothing(
    dav_app: App, dav: tuple[str, Path], tmp_path: Path
) -> None:
    address, folder = dav
    (folder / "iron.txt").write_bytes(IRON)
    watch_folder(dav_app, address, tags=frozenset({"ward"}))
    look(dav_app)
    with build(dav_app.settings.model_copy(update={"watch_logins": {address: SecretStr("citewell:wrong")}})) as other:
        assert "refused the request (401)" in (look(other).problem or "")
    folder.rename(tmp_path / "elsewhere")
    assert look(dav_app).problem is not None
    assert states(dav_app) == {"iron.txt": ("completed", 1)}


def test_a_login_never_travels_in_the_open_nor_to_another_place(tmp_path: Path) -> None:
    logins = {"http://files.example/dav": SecretStr("a:b"), "https://files.example/dav": SecretStr("a:b")}
    from citewell.wiring import make_folder

    settings = Settings(home=tmp_path, watch_logins=logins)
    with pytest.raises(InputError, match="in the open"):
        make_folder(settings, "http://files.example/dav/ward")
    for address, has_login in (
        ("https://files.example/dav/ward", True),
        ("https://files.example/davos", False),
        ("https://files.example.attacker.example/dav", False),
    ):
        made: Any = make_folder(settings, address)
        assert (made._client.auth is not None) is has_login, address
        made.close()


def test_what_a_server_lists_elsewhere_or_makes_up_is_not_read(tmp_path: Path, serve_xml: Callable[[str], str]) -> None:
    from citewell.wiring import make_folder

    def member(href: str, kind: str = "") -> str:
        return (
            f"<d:response><d:href>{href}</d:href><d:propstat><d:prop><d:resourcetype>{kind}</d:resourcetype>"
            "<d:getcontentlength>3</d:getcontentlength></d:prop></d:propstat></d:response>"
        )

    inside = member("/dav/", "<d:collection/>") + member("/dav/a.txt")
    outside = member("/other/b.txt") + member("https://elsewhere.example/dav/c.txt") + member("/dav/../d.txt")
    deeper = member("/dav/x/y/e.txt") + member("/dav/%2e%2e/f.txt") + member("/dav/", "<d:collection/>")
    address = serve_xml(f'<d:multistatus xmlns:d="DAV:">{inside}{outside}{deeper}</d:multistatus>')
    folder = make_folder(Settings(home=tmp_path), f"{address}/dav")
    assert [file.path for file in folder.listing().files] == ["a.txt"]
    for answer in ("<html>Not found</html>", "no XML", '<!DOCTYPE a [<!ENTITY b "c">]><d:multistatus xmlns:d="DAV:"/>'):
        with pytest.raises(Unavailable, match="did not answer as WebDAV does"):
            make_folder(Settings(home=tmp_path), f"{serve_xml(answer)}/dav").listing()


@pytest.fixture
def serve_xml() -> Iterator[Callable[[str], str]]:
    """Starts servers that answer every PROPFIND with the same text."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    servers: list[ThreadingHTTPServer] = []

    def start(text: str) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_PROPFIND(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(207)
                self.send_header("Content-Length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()
