"""Attacks by load: too much work, too many connections, slow clients, and who is served meanwhile."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from starlette.testclient import TestClient

from citewell.adapters.store.engine import refuse_read_only
from citewell.api.app import create_app
from citewell.api.fair_turns import ASKING, HEAVY_S, QUICK_S, Asking, FairTurns, Person, Turn
from citewell.api.log_lines import CountedWarnings
from citewell.api.problems import Refused
from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import ClientGone, LibraryReadOnly
from citewell.types import Role, Source
from citewell.work import bounded, spend
from tests.api.conftest import TOKEN, serving_app
from tests.api.running import run

BEARER = {"Authorization": f"Bearer {TOKEN}"}
WRITTEN_TO_COST = ("no ", "1 mg ", "10% ", "[1] ", "a (b ", "warfarin and ", "3 years ")
"""Fragments of which a long question is made."""


@pytest.fixture
def home(samples_home: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(samples_home, tmp_path / "home"))


def opened(home: Path, **chosen: object) -> App:
    return build(Settings.model_validate({"home": home, **chosen}))


def client_of(app: App) -> TestClient:
    return TestClient(create_app(app, token=TOKEN), base_url="http://127.0.0.1", headers=BEARER)


# ---------------------------------------------------------------------------------------------------- bounded work


def test_what_takes_too_much_work_is_stopped_and_said_to_be(home: Path) -> None:
    with opened(home, max_processor_s=0.05) as app:
        client = client_of(app)
        client.post("/api/v1/ask", json={"question": "What is the dose of warfarin?"})  # the first loads what it needs
        late = client.post("/api/v1/ask", json={"question": "Is warfarin safe with no " + "fever, cough and no " * 150})
        assert (late.status_code, late.json()["kind"]) == (422, "TooMuchWork")
        assert "Send a shorter text" in late.json()["detail"]
        assert client.get("/api/v1/health").status_code == 200


def test_who_is_in_danger_is_told_so_even_where_the_work_is_stopped(home: Path) -> None:
    with opened(home, max_processor_s=0.05) as app:
        client = client_of(app)
        client.post("/api/v1/ask", json={"question": "What is the dose of warfarin?"})
        asked = "I have crushing chest pain and cannot breathe. " + "I walked the dog this morning. " * 90
        late = client.post("/api/v1/ask", json={"question": asked})
        assert (late.status_code, late.json()["kind"]) == (422, "TooMuchWork")
        assert late.json()["detail"].startswith("This may be an emergency")
        assert "999" in late.json()["detail"]


@pytest.mark.parametrize("piece", WRITTEN_TO_COST)
def test_no_question_of_repeated_words_takes_more_than_its_allowance(home: Path, piece: str) -> None:
    with opened(home) as app:
        client = client_of(app)
        client.post("/api/v1/ask", json={"question": "What is the dose of warfarin?"})
        started_s = time.process_time()
        answered = client.post("/api/v1/ask", json={"question": (piece * 4_000)[:4_000]})
        used_s = time.process_time() - started_s
    assert answered.status_code in (200, 422)
    assert used_s < 4 * app.settings.max_processor_s  # processor time, which other work leaves alone; before: 20 s


def test_sentences_that_are_left_are_named_as_unchecked(home: Path) -> None:
    text = " ".join(f"Warfarin is stopped {days} days before surgery and vitamin K is given." for days in range(1, 80))
    with opened(home, max_long_processor_s=1.0) as app:
        client = client_of(app)
        client.post("/api/v1/check", json={"text": "Warfarin is given."})
        checked = client.post("/api/v1/check", json={"text": text}).json()["sentences"]
    assert len(checked) == 79
    last = checked[-1]
    assert (last["verdict"], last["reasons"][0].partition(":")[0]) == ("not_found", "not checked")


def test_signs_alone_are_no_sentences_and_thousands_of_them_are_refused(home: Path) -> None:
    with opened(home) as app:
        client = client_of(app)
        few = client.post("/api/v1/check", json={"text": "! ? ."}).json()["sentences"]
        assert {sentence["reasons"][0] for sentence in few} == {"there are no words to check"}
        many = client.post("/api/v1/check", json={"text": ". " * 25_000})
        assert (many.status_code, "Too many sentences" in many.json()["detail"]) == (422, True)
        spaces = client.post("/api/v1/check", json={"text": f"a{chr(160) * 49_000}b"})
        assert spaces.status_code in (200, 422)


SPOTS = """# Green spots: recognition and referral

## 1.1 Spots

1.1.1 Refer people by suspected cancer pathway for spot cancer if aged 40 and over with unexplained jaundice. [2020]

1.1.2 Consider an ultrasound scan for spot cancer in people with cough. {digits}
"""


@pytest.mark.parametrize("digits", ["7" * 8_000, "7 " * 4_000, "1.7 " * 2_000])
def test_a_guideline_with_thousands_of_digits_costs_its_readers_little(tmp_path: Path, digits: str) -> None:
    with opened(tmp_path / "home") as app:
        app.guidelines.add_source(Source(SPOTS.format(digits=digits).encode(), "spots.md"))
        client, patient = client_of(app), {"age": 60, "sex": "female", "symptoms": ["jaundice"]}
        client.post("/api/v1/assess", json=patient)  # the first loads what it needs
        started_s = time.process_time()
        assessed = client.post("/api/v1/assess", json=patient)
        used_s = time.process_time() - started_s
    assert assessed.status_code == 200
    assert used_s < app.settings.max_processor_s  # processor time, which other work leaves alone; before: 23 s


def test_a_file_without_spaces_is_kept_and_costs_its_readers_little(home: Path) -> None:
    with opened(home) as app:
        added = app.add_source(Source(b"abcdefgh" * 40_000, "letters.txt"))
        client = client_of(app)
        client.get("/api/v1/search", params={"q": "warfarin"})
        started_s = time.process_time()
        found = client.get("/api/v1/search", params={"q": "warfarin before surgery"})
        used_s = time.process_time() - started_s
    assert (added.entry.chunk_count > 0, found.status_code) == (True, 200)
    assert used_s < app.settings.max_processor_s


def test_the_work_of_a_client_that_left_ends_at_its_next_step() -> None:
    with bounded(60) as allowance:
        spend()
        allowance.stop()
        with pytest.raises(ClientGone):
            spend()


# ------------------------------------------------------------------------------------------------------ whose turn


def test_who_used_little_comes_first_and_nobody_holds_every_turn() -> None:
    ann, ben, cat = (Person("clinic", name) for name in ("ann", "ben", "cat"))

    async def order() -> list[str]:
        turns, begun = FairTurns(2, 8, clock=lambda: 0.0), list[str]()
        held: dict[Person, Turn] = {}

        async def ask(person: Person, name: str) -> None:
            held[person] = await turns.take(person)
            begun.append(name)

        turns.give_back(await turns.take(ann), HEAVY_S + 1)
        await ask(ann, "ann 1")
        waiting = [asyncio.create_task(ask(person, name)) for person, name in ((ann, "ann 2"), (ann, "ann 3"))]
        await asyncio.sleep(0)
        others = [asyncio.create_task(ask(ben, "ben")), asyncio.create_task(ask(cat, "cat"))]
        await asyncio.sleep(0)
        for person in (ann, ben, cat, ann):
            await asyncio.sleep(0)
            turns.give_back(held[person], 0.0)
            await asyncio.sleep(0)
        await asyncio.gather(*waiting, *others)
        return begun

    assert run(order())[:3] == ["ann 1", "ben", "cat"]


def test_one_tenants_crowd_waits_behind_another_tenant() -> None:
    async def first_let_in() -> str:
        turns = FairTurns(1, 8, clock=lambda: 0.0)
        busy = Person("busy", "ann")
        first = await turns.take(busy)
        begun = list[str]()

        async def ask(person: Person) -> None:
            await turns.take(person)
            begun.append(person.tenant)

        waiting = [asyncio.create_task(ask(Person("busy", str(number)))) for number in range(4)]
        waiting.append(asyncio.create_task(ask(Person("quiet", "zoe"))))
        await asyncio.sleep(0)
        turns.give_back(first, 1.0)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for task in waiting:
            task.cancel()
        return begun[0]

    assert run(first_let_in()) == "quiet"


def test_long_work_leaves_room_for_quick_requests_however_many_ask_for_it() -> None:
    async def let_in() -> list[str]:
        turns, begun = FairTurns(4, 8, clock=lambda: 0.0), list[str]()

        async def ask(name: str, *, is_long: bool) -> None:
            await turns.take(Person("clinic", name), is_long=is_long)
            begun.append(name)

        waiting = [asyncio.create_task(ask(f"attacker {number}", is_long=True)) for number in range(20)]
        await asyncio.sleep(0)
        await asyncio.wait_for(ask("ann", is_long=False), 60)
        for task in waiting:
            task.cancel()
        return begun

    assert run(let_in()) == ["attacker 0", "attacker 1", "ann"]


def test_a_request_that_takes_long_makes_room_and_goes_on_once_another_long_one_is_done() -> None:
    ann, ben, cat = (Person("clinic", name) for name in ("ann", "ben", "cat"))

    async def done() -> list[str]:
        turns, order = FairTurns(2, 8), list[str]()
        held = await turns.take(ann, is_long=True)
        with bounded(60) as allowance:
            ASKING.set(Asking(ben, allowance))
            end = await turns.begin()
            working = asyncio.create_task(asyncio.to_thread(spend, 2 * QUICK_S))
            working.add_done_callback(lambda _: order.append("ben goes on"))
            await asyncio.wait_for(turns.take(cat), 60)
            order.append("cat begins")
            turns.give_back(held, 0.0)
            await working
            end()
        return order

    assert run(done()) == ["cat begins", "ben goes on"]


def test_more_waiting_requests_than_allowed_are_refused() -> None:
    async def refused() -> str:
        turns, ann = FairTurns(1, 2), Person("clinic", "ann")
        await turns.take(ann)
        waiting = [asyncio.create_task(turns.take(ann)) for _ in range(2)]
        await asyncio.sleep(0)
        try:
            await turns.take(ann)
        except Refused as error:
            return error.problem.kind
        finally:
            for task in waiting:
                task.cancel()
        return ""

    assert run(refused()) == "TooManyRequests"


# ----------------------------------------------------------------------------------------------------- connections


@contextmanager
def connected(client: httpx.Client, count: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections on which this much was said."""
    address = (client.base_url.host, client.base_url.port or 0)
    sockets = []
    try:
        for _ in range(count):
            sockets.append(socket.create_connection(address, timeout=20))
            if said:
                sockets[-1].sendall(said)
        yield sockets
    finally:
        for each in sockets:
            each.close()


def is_closed(connection: socket.socket) -> bool:
    with suppress(ConnectionError):
        return connection.recv(1) == b""
    return True


def test_half_sent_requests_are_closed(home: Path) -> None:
    count = int(os.environ.get("CITEWELL_CONNECTIONS", "60"))
    half = b"GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
    with (
        opened(home, max_header_s=1.0) as app,
        serving_app(app) as client,
        connected(client, count, half) as sockets,
    ):
        assert client.get("/api/v1/health").status_code == 200
        assert all(map(is_closed, sockets))


def test_idle_connections_beyond_the_limit_make_room(home: Path, caplog: pytest.LogCaptureFixture) -> None:
    count = int(os.environ.get("CITEWELL_CONNECTIONS", "60"))
    with opened(home, max_connections=16, max_header_s=300.0) as app, serving_app(app) as client:
        client.get("/api/v1/health")
        with caplog.at_level(logging.WARNING), connected(client, count) as sockets:
            for _ in range(3):
                assert httpx.get(client.base_url.join("/api/v1/health"), timeout=20).status_code == 200
            assert is_closed(sockets[0])
    assert not [record for record in caplog.records if record.exc_info]


def test_the_same_warning_is_written_once_and_counted() -> None:
    told: list[logging.LogRecord] = []
    counted = CountedWarnings(told.append, every_s=60, is_timed=False)
    line = logging.LogRecord("asyncio", logging.ERROR, "", 0, "no more files", (), None)
    assert [counted.filter(line) for _ in range(1_000)].count(True) == 1
    counted._sum_up(("asyncio", logging.ERROR, "no more files"), line)
    assert [record.getMessage() for record in told] == ["999 more: no more files"]
    plain = logging.LogRecord("citewell", logging.INFO, "", 0, "search: %d hits", (3,), None)
    assert all(counted.filter(plain) for _ in range(5))


# ------------------------------------------------------------------------------------------ sign-in, homes, copies


@pytest.mark.parametrize(
    ("chosen", "header"),
    [
        ({"hosts": ("127.0.0.1",)}, {}),
        ({"proxies": ("127.0.0.1",)}, {"X-Forwarded-For": "203.0.113.7"}),
    ],
)
def test_wrong_passwords_from_one_place_lock_nobody_else_out_behind_a_proxy(
    home: Path, chosen: dict[str, object], header: dict[str, str]
) -> None:
    with opened(home, sign_ins_per_quarter=1, **chosen) as app:
        app.people.add(
            tenant="local", email="ann@local.example", name="Ann", role=Role.MEMBER, tags=[], password="right password"
        )
        with serving_app(app) as client:
            wrong = [
                client.post("/sign-in", data={"email": f"{number}@x.example", "password": "no"}, headers=header)
                for number in range(12)
            ]
            right = client.post("/sign-in", data={"email": "ann@local.example", "password": "right password"})
    assert {answer.status_code for answer in wrong} <= {401, 429}
    assert right.status_code == 303


def test_a_home_that_cannot_be_written_to_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_read_only(tmp_path / "library.sqlite")
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)  # root may write to everything
    with pytest.raises(LibraryReadOnly, match="cannot be written to"):
        refuse_read_only(tmp_path / "library.sqlite")


def test_a_file_that_a_library_is_moved_to_is_its_owners_alone(home: Path, tmp_path: Path) -> None:
    from citewell.operations.move_library import move_library

    moved = tmp_path / "moved" / "library.sqlite"
    moved.parent.mkdir()
    before = os.umask(0o022)
    try:
        move_library(f"sqlite:///{home / 'library.sqlite'}", f"sqlite:///{moved}", home=home, watch=lambda *_: None)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(path.stat().st_mode) for path in moved.parent.glob("library.sqlite*")} == {0o600}
