"""Files are read and drawn in processes of their own: a hostile one ends its process, and nothing else."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from citewell.adapters.parsers import sandbox as apart
from citewell.adapters.parsers.by_media_type import all_parsers
from citewell.adapters.parsers.pdf_forms import refuse_endless
from citewell.adapters.parsers.sandbox import SandboxDied, SandboxProcess, apart_parsers, draw_page, hands
from citewell.adapters.parsers.sandbox_frames import DrawJob
from citewell.app import App
from citewell.errors import DamagedFile, EmptyFile, InputError, TooLarge
from citewell.ingest.parse import parse
from citewell.ingest.parse_allowance import ParseAllowance
from citewell.samples import sample_files
from citewell.types import Document, Filing, LifecycleState, ParseLimits, Source
from tests.core import hostile_pdfs as hostile
from tests.core.test_worker import reached

pytestmark = pytest.mark.slow

PDF_SAMPLE = next(path for path in sample_files() if path.suffix == ".pdf")
MEBIBYTE = 1 << 20


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file may take a few seconds and a few MiB."""
    monkeypatch.setattr(apart, "allowance", lambda _size: ParseAllowance(20.0, 256 * MEBIBYTE))


@pytest.fixture
def fresh() -> Iterator[None]:
    """No process is left from another test."""
    for use in ("read", "draw"):
        hands(use).close()
    yield
    for use in ("read", "draw"):
        hands(use).close()


def read(data: bytes, name: str = "file.pdf") -> Document:
    return parse(Source(data, name), parsers=apart_parsers(), limits=ParseLimits())


# --------------------------------------------------------------------------------------- forms that draw each other


@pytest.mark.parametrize("name", ["ITSELF", "EACH_OTHER", "DOUBLING", "CHAIN"])
def test_forms_that_draw_each_other_without_end_are_refused_at_once(name: str) -> None:
    data = getattr(hostile, name)
    with pytest.raises(DamagedFile, match="Page 1 of the PDF repeats parts of itself"):
        refuse_endless(data)
    with pytest.raises(DamagedFile, match="repeats parts of itself"):
        read(data)
    with pytest.raises(DamagedFile, match="repeats parts of itself"):
        draw_page(data, 1, width_px=200)


def test_forms_that_are_nested_and_end_are_read() -> None:
    refuse_endless(hostile.HARMLESS)
    document = read(hostile.HARMLESS)
    assert "tablet" in document.text
    assert draw_page(hostile.HARMLESS, 1, width_px=100).startswith(b"\x89PNG")


def test_a_file_that_cannot_be_understood_is_left_to_its_reader() -> None:
    refuse_endless(b"/Form " + os.urandom(2_000))
    refuse_endless(hostile.ITSELF[:400])


# ------------------------------------------------------------------------------------------------ what a process holds


@pytest.mark.usefixtures("little", "fresh")
def test_what_nobody_foresaw_ends_one_process_and_the_next_file_is_read() -> None:
    with pytest.raises(InputError) as refused:
        read(hostile.UNSEEN)
    assert str(refused.value) in (apart.DIED, apart.TOO_LONG.format(minutes=20 / 60))
    assert "tablet" in read(hostile.HARMLESS).text


@pytest.mark.usefixtures("little", "fresh")
def test_a_page_that_cannot_be_drawn_says_so_and_the_next_is_drawn() -> None:
    with pytest.raises(DamagedFile, match="Page 1 could not be shown"):
        draw_page(hostile.UNSEEN, 1, width_px=200)
    assert draw_page(hostile.HARMLESS, 1, width_px=100).startswith(b"\x89PNG")


@pytest.mark.usefixtures("fresh")
def test_a_hostile_file_fails_once_in_a_library_and_pages_of_others_are_drawn_meanwhile(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = app.add(PDF_SAMPLE).document_id
    begun, take = threading.Event(), hands("read")._taken
    monkeypatch.setattr(hands("read"), "_taken", lambda: (begun.set(), take())[1])
    monkeypatch.setattr(apart, "allowance", lambda _size: ParseAllowance(20.0, 256 * MEBIBYTE))
    queued = app.library.enqueue(Source(hostile.UNSEEN, "loop.pdf"), filing=Filing(), scope=app.scope_of_owner())
    working = threading.Thread(target=app.worker.work)
    working.start()
    assert begun.wait(60)
    assert app.page_image(good, 1, width_px=120).startswith(b"\x89PNG")
    working.join()
    entry = app.library.entry(queued.id, app.scope_of_owner())
    assert (entry.state, entry.attempts, entry.next_attempt_at) == (LifecycleState.FAILED, 1, None)
    assert entry.error in (apart.DIED, apart.TOO_LONG.format(minutes=20 / 60))
    assert app.library.claim("another") is None


def test_what_is_read_apart_is_what_is_read_here() -> None:
    for path in sample_files():
        source = Source(path.read_bytes(), path.name)
        assert read(source.data, path.name) == parse(source, parsers=all_parsers(), limits=ParseLimits())


def test_errors_come_back_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EmptyFile, match="blank"):
        read(hostile.forms_pdf({0: []}))
    with pytest.raises(DamagedFile, match="incomplete or damaged"):
        read(PDF_SAMPLE.read_bytes()[:2_000])
    monkeypatch.setattr(apart, "allowance", lambda _size: ParseAllowance(60.0, MEBIBYTE))
    with pytest.raises((TooLarge, DamagedFile)):
        read(b"# Iron\n\n" + b"Take 200 mg of it *daily*. " * 200_000, "long.md")


@pytest.mark.usefixtures("fresh")
def test_a_process_that_was_killed_while_it_waited_is_replaced() -> None:
    read(hostile.HARMLESS)
    (hand,) = hands("read")._free
    hand._process.kill()
    hand._process.wait()
    assert "tablet" in read(hostile.HARMLESS).text


@pytest.mark.parametrize(
    "said", [b"", b"not a frame", struct.pack(">QQ", 2, 0) + b"{}", struct.pack(">QQ", 1 << 62, 0)]
)
def test_what_is_no_frame_is_no_reply(monkeypatch: pytest.MonkeyPatch, said: bytes) -> None:
    hand = SandboxProcess()
    with monkeypatch.context() as patch:
        patch.setattr(hand._process, "stdout", BytesIO(said))
        with pytest.raises(SandboxDied):
            hand.do(DrawJob(b"", 1, 1, 1), time_s=30)
    hand.end()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for a process in /proc")
def test_a_process_ends_with_the_one_that_started_it() -> None:
    script = """
import os
from citewell.adapters.parsers.sandbox import SandboxProcess
process = SandboxProcess()
print(process._process.pid, flush=True)
os._exit(0)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert reached(lambda: not Path(f"/proc/{int(told.stdout)}").exists())
