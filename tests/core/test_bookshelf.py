"""Guidelines from a bookshelf server: the list, archives that break off, what is unpacked, parsed and embedded."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from citewell.adapters.bookshelf import unpack as unpacking
from citewell.adapters.bookshelf.catalogue import BookEntry, BookFilter, catalogue, choose
from citewell.adapters.bookshelf.fetch import Bookshelf
from citewell.adapters.bookshelf.unpack import unpack
from citewell.app import App
from citewell.errors import DamagedFile, EmptyFile, InputError, TooLarge, Unavailable
from citewell.operations.bookshelf import Done, Parsing, download, embed
from citewell.types import Filing, ParseLimits, Scope

pytestmark = pytest.mark.slow

HEAD = "File,Book Title,Publisher,Publication Date,Accession ID,Last Updated"


def chapter(title: str, body: str, *, language: str = "en") -> bytes:
    return f"""<?xml version="1.0"?>
<book-part-wrapper xml:lang="{language}"><book-part book-part-type="chapter"><book-part-meta>
<title-group><title>{title}</title></title-group></book-part-meta><body>{body}</body>
<back><ref-list><title>References</title><ref><mixed-citation>Somebody. A cited paper.</mixed-citation></ref></ref-list>
<ack><p>We thank everybody.</p></ack></back></book-part></book-part-wrapper>""".encode()


TREATMENT = chapter(
    "Treatment",
    "<sec><title>In pregnancy</title><p>Give <b>artesunate</b> 2.4 mg/kg in all trimesters (strong recommendation, "
    "low-certainty evidence).</p></sec><sec><title>Adults</title><p>Platelets below 50 x 10<sup>9</sup>/L.</p></sec>",
)


def archive(**files: bytes) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"book/{name.replace('__', '.')}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return made.getvalue()


@dataclass
class Server:
    """Serves bytes by path with ranges; can cut a reply, answer with an error first, and counts what is asked."""

    files: dict[str, bytes]
    cut_after: dict[str, int] = field(default_factory=dict)
    errors: dict[str, list[int]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    address: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server({})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.removeprefix("/shelf/")
            state.asked.append((name, self.headers.get("range")))
            content = state.files.get(name)
            if waiting := state.errors.get(name):
                self.send_response(waiting.pop(0))
                self.send_header("retry-after", "0")
                self.end_headers()
                return
            if content is None:
                self.send_error(404)
                return
            mark = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            begin = 0
            if (wanted := self.headers.get("range")) and self.headers.get("if-range") == mark:
                begin = int(wanted.removeprefix("bytes=").rstrip("-"))
            self.send_response(206 if begin else 200)
            if begin:
                self.send_header("content-range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            self.send_header("etag", mark)
            self.send_header("content-length", str(len(content) - begin))
            self.end_headers()
            end = state.cut_after.pop(name, len(content))
            self.wfile.write(content[begin:end])
            if end < len(content):
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Quietly."""

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    state.address = f"http://127.0.0.1:{httpd.server_port}/shelf/"
    yield state
    httpd.shutdown()
    httpd.server_close()
    thread.join()


def shelf_of(server: Server) -> Bookshelf:
    return Bookshelf(server.address, pause_s=0, sleep=lambda _seconds: None)


def fetched(server: Server, folder: Path, wanted: BookFilter | None = None) -> list[Done]:
    with shelf_of(server) as shelf:
        return list(download(shelf, folder, wanted=wanted or BookFilter(), limits=ParseLimits()))


def test_the_list_is_filtered_by_alias_topic_and_what_is_clinical() -> None:
    books = catalogue(
        f"{HEAD}\na/1.tar.gz,Malaria treatment,World Health Organization,2023,NBK1,2024-01-01\n"
        "a/2.tar.gz,Malaria in the Americas,Pan American Health Organization,2020,NBK2,2021-01-01\n"
        "a/3.tar.gz,Annual report 2020,World Health Organization,2020,NBK3,2021-01-01\n"
        "a/4.tar.gz,Asthma,Another House,2020,NBK4,2021-01-01\n"
        "a/5.tar.gz,Malaria treatment,World Health Organization,2021,NBK1,2022-01-01\n"
    )
    who = choose(books, BookFilter(publishers=("who",)))
    assert [(book.accession, book.path) for book in who] == [("NBK1", "a/1.tar.gz"), ("NBK2", "a/2.tar.gz")]
    assert [book.accession for book in choose(books, BookFilter(topics=("asth",)))] == ["NBK4"]
    assert len(choose(books, BookFilter(clinical_only=False))) == 4
    with pytest.raises(InputError, match="not a bookshelf list"):
        catalogue("<html>not a list</html>")


def test_a_download_that_breaks_off_goes_on_where_it_was(server: Server, tmp_path: Path) -> None:
    content = archive(ch1__nxml=TREATMENT, picture__jpg=bytes(range(256)) * 400)
    server.files = {"file_list.csv": f"{HEAD}\na/1.tar.gz,Malaria,WHO,2023,NBK1,1\n".encode(), "a/1.tar.gz": content}
    server.cut_after["a/1.tar.gz"] = 300
    server.errors["a/1.tar.gz"] = [503, 429]
    done = fetched(server, tmp_path)
    assert [(one.accession, one.count, one.was_there, one.error) for one in done] == [("NBK1", 1, False, None)]
    assert server.asked[-1] == ("a/1.tar.gz", "bytes=300-")
    kept = json.loads((tmp_path / "books/NBK1/book.json").read_text("utf-8"))
    assert kept["archive"] == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert (tmp_path / "books/NBK1/ch1.nxml").read_bytes() == TREATMENT
    assert not list((tmp_path / "archives").iterdir())
    count = len(server.asked)
    assert [one.was_there for one in fetched(server, tmp_path)] == [True]
    assert [name for name, _range in server.asked[count:]] == ["file_list.csv"], "what is here is not fetched again"


def test_a_server_that_stays_down_says_what_to_do_and_keeps_the_part(server: Server, tmp_path: Path) -> None:
    book = BookEntry("a/1.tar.gz", "Malaria", "WHO", "NBK1")
    server.files = {book.path: archive(ch1__nxml=TREATMENT)}
    server.cut_after[book.path] = 100
    server.errors[book.path] = []
    with shelf_of(server) as shelf:
        server.errors[book.path] = [503] * 5
        with pytest.raises(Unavailable, match="Run the same command again"):
            shelf.archive(book, tmp_path)
        assert shelf.archive(book, tmp_path).read_bytes() == server.files[book.path]
        with pytest.raises(InputError, match="404"):
            shelf.archive(BookEntry("a/none.tar.gz", "No", "WHO", "NBK2"), tmp_path)
    with pytest.raises(InputError, match="https"):
        Bookshelf("http://example.org/")


def test_an_archive_that_is_damaged_is_fetched_once_more_then_told(server: Server, tmp_path: Path) -> None:
    whole = archive(ch1__nxml=TREATMENT)
    listed = f"{HEAD},MD5\na/1.tar.gz,Malaria,WHO,2023,NBK1,1,{'0' * 32}\na/2.tar.gz,Cut,WHO,2023,NBK2,1,\n"
    listed += f"a/3.tar.gz,Good,WHO,2023,NBK3,1,{hashlib.md5(whole).hexdigest()}\n"
    server.files = {
        "file_list.csv": listed.encode(),
        "a/1.tar.gz": whole,
        "a/2.tar.gz": whole[:-40],
        "a/3.tar.gz": whole,
    }
    wrong, cut, good = fetched(server, tmp_path)
    assert isinstance(wrong.error, DamagedFile)
    assert "checksum" in str(wrong.error)
    assert isinstance(cut.error, DamagedFile)
    assert good.error is None
    assert sorted(path.name for path in (tmp_path / "books").iterdir()) == ["NBK3"]
    assert [name for name, _range in server.asked].count("a/2.tar.gz") == 2


def test_a_hostile_archive_writes_nothing_outside_its_folder(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name in ("../../evil.nxml", "/etc/evil.nxml", "a/.hidden.nxml"):
            member = tarfile.TarInfo(name)
            member.size = len(TREATMENT)
            tar.addfile(member, io.BytesIO(TREATMENT))
        link = tarfile.TarInfo("link.nxml")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    path = tmp_path / "shelf" / "x.tar.gz"
    path.parent.mkdir()
    path.write_bytes(made.getvalue())
    texts = unpack(path, tmp_path / "shelf" / "out", limits=ParseLimits())
    assert all(text.parent == tmp_path / "shelf" / "out" and not text.is_symlink() for text in texts)
    assert len(texts) == 2
    assert {one.name for one in tmp_path.rglob("*evil*")} == {text.name for text in texts}


def test_a_bomb_and_an_empty_archive_are_refused_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(archive(ch1__nxml=b" " * 3_000_000))
    with pytest.raises(TooLarge):
        unpack(path, tmp_path / "out", limits=ParseLimits(max_unpacked_bytes=1_000_000))
    monkeypatch.setattr(unpacking, "MAX_OPENED_BYTES", 1_000_000)
    path.write_bytes(archive(picture__jpg=b" " * 3_000_000, ch1__nxml=TREATMENT))
    with pytest.raises(TooLarge, match="not a book"):
        unpack(path, tmp_path / "out", limits=ParseLimits())
    path.write_bytes(gzip.compress(b""))
    with pytest.raises((EmptyFile, DamagedFile)):
        unpack(path, tmp_path / "out", limits=ParseLimits())
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob("*.part"))


def test_texts_of_one_name_or_a_long_one_are_all_kept(tmp_path: Path) -> None:
    names = ("a/c.nxml", "a/c.nxml", "a/c.nxml", "b/a/c.nxml", f"a/{'n' * 300}.nxml", "a/odd\n\x1b[31m.nxml")
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for number, name in enumerate(names):
            member = tarfile.TarInfo(name)
            content = TREATMENT + str(number).encode()
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    path = tmp_path / "x.tar.gz"
    path.write_bytes(made.getvalue())
    texts = unpack(path, tmp_path / "out", limits=ParseLimits())
    assert {text.read_bytes() for text in texts} == {TREATMENT + str(number).encode() for number in range(len(names))}
    assert all(text.name.isprintable() and text.name.endswith(".nxml") for text in texts)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_that_would_fill_the_memory_is_refused_before_it_is_read(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 3 * 1024**3
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(header.tobuf(tarfile.USTAR_FORMAT) + b"\0" * 10_240))
    with pytest.raises(TooLarge, match="oversized header"):
        unpack(path, tmp_path / "out", limits=ParseLimits())
    assert not (tmp_path / "out").exists()


def test_one_archive_that_cannot_be_fetched_does_not_stop_the_others_but_a_silent_server_does(
    server: Server, tmp_path: Path
) -> None:
    lines = "".join(f"a/{number}.tar.gz,Malaria {number},WHO,2023,NBK{number},1\n" for number in range(1, 6))
    server.files = {"file_list.csv": f"{HEAD}\n{lines}".encode()}
    server.files |= {f"a/{number}.tar.gz": archive(ch1__nxml=TREATMENT) for number in range(1, 6)}
    server.errors["a/2.tar.gz"] = [503] * 5
    done = fetched(server, tmp_path)
    assert [one.error is None for one in done] == [True, False, True, True, True]
    assert "Run the same command again" in str(done[1].error)
    assert [one.was_there for one in fetched(server, tmp_path)] == [True, False, True, True, True]
    for number in (1, 2, 3):
        server.errors[f"a/{number}.tar.gz"] = [503] * 5
    with pytest.raises(Unavailable):
        fetched(server, tmp_path / "other")


def test_a_server_that_leads_on_to_an_address_without_https_is_not_followed(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.scheme == "https":
            return httpx.Response(302, headers={"location": "http://example.org/list"})
        return httpx.Response(200, content=f"{HEAD}\na/1.tar.gz,Malaria,WHO,2023,NBK1,1\n".encode())

    with Bookshelf("https://example.org/", pause_s=0) as shelf:
        shelf._client = httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True)
        with pytest.raises(InputError, match="not https"):
            shelf.catalogue(tmp_path)


def test_passages_are_lines_to_look_at_and_then_in_the_library(server: Server, tmp_path: Path, app: App) -> None:
    spanish = chapter("Tratamiento", "<sec><title>Adultos</title><p>Dar artesunato.</p></sec>", language="es")
    server.files = {
        "file_list.csv": f"{HEAD}\na/1.tar.gz,Malaria,World Health Organization,2023-11,NBK1,1\n"
        "a/2.tar.gz,Malaria again,World Health Organization,2024,NBK2,1\n".encode(),
        "a/1.tar.gz": archive(ch1__nxml=TREATMENT, ch2__nxml=spanish, ch3__nxml=b"<not xml"),
        "a/2.tar.gz": archive(ch1__nxml=TREATMENT),
    }
    fetched(server, tmp_path)
    first, second = Parsing(app, tmp_path).run()
    reasons = dict(first.passed_over)
    assert reasons["ch2.nxml"] == "language is es"
    assert "ch3.nxml" in reasons
    assert second.passed_over == (("ch1.nxml", "same text as NBK1/ch1.nxml"),)
    lines = [json.loads(line) for line in (tmp_path / "passages/NBK1.jsonl").read_text("utf-8").splitlines()]
    pregnancy = next(line for line in lines if "artesunate" in line["content"])
    wanted = {
        "source": "NBK1/ch1.nxml",
        "title": "Malaria: Treatment",
        "publisher": "World Health Organization",
        "published": "2023-11-01",
        "language": "en",
        "populations": ["adults", "pregnant"],
        "strength": "strong",
        "certainty": "low",
        "url": "https://www.ncbi.nlm.nih.gov/books/NBK1/",
    }
    assert {name: pregnancy[name] for name in wanted} == wanted
    assert "Give artesunate 2.4 mg/kg in all trimesters" in pregnancy["content"]
    together = " ".join(line["content"] for line in lines)
    assert "10^9" in together
    assert "cited paper" not in together
    assert "thank everybody" not in together
    assert [one.was_there for one in Parsing(app, tmp_path).run()] == [True, True]

    done = list(embed(app, tmp_path, filing=Filing(tags=frozenset({"who"}))))
    assert [(one.accession, one.was_there, one.error) for one in done] == [("NBK1/ch1.nxml", False, None)]
    assert done[0].count == len(lines)
    (entry,) = app.entries()
    assert (entry.title, entry.metadata.publisher, entry.tags) == (
        "Malaria: Treatment",
        "World Health Organization",
        ("who",),
    )
    assert [one.was_there for one in embed(app, tmp_path, filing=Filing())] == [True]
    scope = Scope(app.tenant, frozenset({"who"}), None, None)
    assert "artesunate" in app.search("malaria in pregnancy", scope=scope).hits[0].text
    assert not app.verify().problems


def test_what_a_file_holds_decides_and_not_its_name(server: Server, tmp_path: Path, app: App) -> None:
    summary = chapter("Executive summary", "<sec><title>Recommendations</title><p>Give oral fluids early.</p></sec>")
    server.files = {
        "file_list.csv": f"{HEAD}\na/1.tar.gz,Malaria,World Health Organization,2023,NBK1,1\n".encode(),
        "a/1.tar.gz": archive(
            **{"fm-summary__nxml": summary, "ch1__nxml": TREATMENT, "ch2__nxml": chapter("References", "")}
        ),
    }
    fetched(server, tmp_path)
    (book,) = Parsing(app, tmp_path).run()
    assert dict(book.passed_over) == {"ch2.nxml": "contains only references and acknowledgements"}
    lines = [json.loads(line) for line in (tmp_path / "passages/NBK1.jsonl").read_text("utf-8").splitlines()]
    assert "NBK1/fm-summary.nxml" in {line["source"] for line in lines if "Give oral fluids early" in line["content"]}


def test_an_embedding_that_is_broken_off_goes_on_and_a_changed_text_takes_the_place_of_the_old_in_one_stroke(
    server: Server, tmp_path: Path, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = chapter("Prevention", "<sec><title>Nets</title><p>Sleep under a treated net in malaria areas.</p></sec>")
    listed = f"{HEAD}\na/1.tar.gz,Malaria,World Health Organization,2023,NBK1,"
    server.files = {
        "file_list.csv": f"{listed}1\n".encode(),
        "a/1.tar.gz": archive(ch1__nxml=TREATMENT, ch2__nxml=other),
    }
    fetched(server, tmp_path)
    list(Parsing(app, tmp_path).run())
    works = embed(app, tmp_path, filing=Filing())
    assert next(works).accession == "NBK1/ch1.nxml"
    works.close()  # type: ignore[attr-defined]
    assert [(one.accession, one.was_there) for one in embed(app, tmp_path, filing=Filing())] == [
        ("NBK1/ch1.nxml", True),
        ("NBK1/ch2.nxml", False),
    ]
    changed = TREATMENT.replace(b"2.4 mg/kg", b"3 mg/kg")
    server.files = {
        "file_list.csv": f"{listed}2\n".encode(),
        "a/1.tar.gz": archive(ch1__nxml=changed, ch2__nxml=other),
    }
    fetched(server, tmp_path)
    list(Parsing(app, tmp_path).run())

    def found() -> list[str]:
        return [one.text for one in app.search("artesunate malaria in pregnancy").hits if "artesunate" in one.text]

    add, seen = app.library.add, list[str]()

    def watched(*told: Any, **how: Any) -> Any:
        seen.extend(found())  # all is embedded, nothing is switched yet: the old text answers
        return add(*told, **how)

    monkeypatch.setattr(app.library, "add", watched)
    assert [one.was_there for one in embed(app, tmp_path, filing=Filing())] == [False, True]
    assert all("2.4 mg/kg" in text for text in seen)
    assert seen != []
    assert [("3 mg/kg" in text, "2.4 mg/kg" in text) for text in found()] == [(True, False)]


def test_steps_taken_out_of_order_say_which_comes_first(tmp_path: Path, app: App) -> None:
    with pytest.raises(InputError, match="guidelines download"):
        list(Parsing(app, tmp_path).run())
    (tmp_path / "books").mkdir()
    with pytest.raises(InputError, match="guidelines parse"):
        list(embed(app, tmp_path, filing=Filing()))
