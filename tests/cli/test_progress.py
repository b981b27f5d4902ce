"""What a person at a terminal sees while files are read side by side, and what is left when they stop it."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from citewell.cli.progress import FrontTask
from citewell.ingest.parse_cut_embed import Step
from tests.on_postgres import IS_ON_POSTGRES, NOTE

CODE = re.compile(r"\x1b\[\??([0-9;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")
FOLDERS = 6


def lines_on(output: str) -> list[str]:
    """What stays on a terminal: text, line ends, cursor up and erase are obeyed, colours are not looked at."""
    rows, row, column = [""], 0, 0
    for number, code, home, down, text in CODE.findall(output):
        if code == "A":
            row = max(0, row - int(number or 1))
        elif code == "K":
            rows[row] = ""
        elif home:
            column = 0
        elif down:
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif text:
            rows[row] = rows[row][:column].ljust(column) + text + rows[row][column + len(text) :]
            column += len(text)
    return [line.rstrip() for line in rows if line.strip()]


def in_a_terminal(*words: str, home: Path, stdout: int | None = None) -> tuple[int, str]:
    """Run the command line with a terminal for its output; its status, and all that came."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-m", "citewell.cli", "--home", str(home), *words],
        stdin=theirs,
        stdout=theirs if stdout is None else stdout,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120", "LINES": "24"},
    )
    os.close(theirs)
    read = b""
    try:
        while part := os.read(ours, 65536):
            read += part
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(ours)
    return running.wait(), read.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of one name in many folders, and broken ones among them."""
    for number in range(FOLDERS):
        kept = tmp_path / "papers" / str(number)
        kept.mkdir(parents=True)
        (kept / "README.md").write_text(f"# Paper {number}\n\n" + f"Take {number} mg of it each day. " * 20)
    (tmp_path / "papers" / "2" / "bad.txt").write_bytes(b"")
    (tmp_path / "papers" / "4" / "bad.txt").write_bytes(b"")
    return tmp_path / "papers"


def expected(folder: Path) -> list[str]:
    empty = "The file is empty. Check that it was saved or downloaded completely, then add it again."
    lines = []
    for number in range(FOLDERS):
        lines.append(f"✓ Paper {number} (): 1 passage")
        if number in {2, 4}:
            lines.append(f"✗ {folder / str(number) / 'bad.txt'}: {empty}")
    return lines


def without_ids(lines: list[str]) -> list[str]:
    return [re.sub(r"\([0-9a-f]{8}\)", "()", line) for line in lines]


def test_each_file_is_told_of_once_in_order_and_no_bar_stays(folder: Path, home: Path) -> None:
    status, output = in_a_terminal("add", str(folder), home=home)
    assert (status, without_ids(lines_on(output))) == (1, expected(folder))


def test_what_is_kept_in_a_file_holds_no_bar_and_no_failure(folder: Path, home: Path, tmp_path: Path) -> None:
    with (tmp_path / "kept.txt").open("w") as kept:
        status, output = in_a_terminal("add", str(folder), home=home, stdout=kept.fileno())
    told = expected(folder)
    assert status == 1
    assert without_ids((tmp_path / "kept.txt").read_text().splitlines()) == [one for one in told if one[0] == "✓"]
    assert lines_on(output) == [one for one in told if one[0] == "✗"]


def test_what_is_waited_for_is_shown_and_not_what_waits_to_be_stored() -> None:
    seen = StringIO()
    columns = TextColumn("{task.description}", markup=False)
    with Progress(columns, console=Console(file=seen, force_terminal=True), auto_refresh=False, transient=True) as bar:
        shown = FrontTask(bar)
        for path in (Path("a/paper.md"), Path("b/paper.md"), Path("c/other.md")):
            shown(path, Step("reading"))

        def line() -> list[str]:
            return [task.description for task in bar.tasks if task.visible]

        assert line() == ["reading paper.md"]
        shown(Path("b/paper.md"), Step("embedding", 1, 2))
        assert line() == ["reading paper.md"]
        shown(Path("a/paper.md"), Step("embedding", 2, 2))
        assert line() == ["embedding paper.md"]
        shown(Path("b/paper.md"), Step("storing"))
        shown(Path("a/paper.md"), Step("storing"))
        assert line() == ["reading other.md"]
        shown.end(Path("c/other.md"))
        assert line() == []


HEEDING = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom citewell.cli import main\nmain()"
)
"""The command line that heeds Ctrl-C also where the tests were started in the background, which passes on not to."""


@pytest.mark.skipif(IS_ON_POSTGRES, reason=NOTE)
def test_ctrl_c_ends_it_at_once_and_leaves_whole_documents(home: Path, tmp_path: Path) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    for number in range(40):
        said = "".join(f"Take {number * 1000 + one} mg of drug {one} each day.\n\n" for one in range(400))
        (papers / f"{number:02}.md").write_text(f"# Paper {number}\n\n{said}")
    (papers / "00.md").write_text("# First\n\nRest.")
    command = [sys.executable, "-m", "citewell.cli", "--home", str(home)]
    heeding = [sys.executable, "-c", HEEDING, "--home", str(home)]
    running = subprocess.Popen(
        [*heeding, "add", str(papers)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    first = running.stdout.readline()  # the others are being embedded now
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=60)
    assert first.startswith("✓ First")
    assert (running.returncode, errors) == (130, "")
    assert len(rest.splitlines()) < 39
    verified = subprocess.run([*command, "verify"], capture_output=True, text=True, check=False)
    assert verified.returncode == 0


def test_ctrl_c_while_it_starts_is_told_by_the_status_alone() -> None:
    script = (
        "import sys\n"
        "class Stopped:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'citewell.cli.commands':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stopped())\n"
        "from citewell.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
