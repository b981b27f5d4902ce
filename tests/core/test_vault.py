"""A vault keeps everything of one person in one file that opens with a passphrase, and with nothing else."""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import shutil
import socket
import subprocess
import weakref
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.store.engine import writing
from citewell.adapters.vault.header import FREE_TRIES, Header, Way
from citewell.adapters.vault.keys import Derivation, VaultKey, WrappedKey
from citewell.adapters.vault.vault import VaultFolder, new_phrase, read_phrase
from citewell.answer.verify.claim_words import read
from citewell.clinical.medicines import medicines
from citewell.config import Settings
from citewell.errors import InputError, LibraryError, NotFound, SchemaTooNew, VaultLocked, VaultWaits, WrongSecret
from citewell.ingest.parse_cut_embed import Step
from citewell.ports.records import RecordSettings
from citewell.types import Source
from citewell.vaults.vaults import OpenVault, Vaults

pytestmark = pytest.mark.slow

PASSPHRASE = "three green bicycles"
SECRET_WORDS = ("Zanzibarine", "quokkamycin")
LETTER = Source(b"Mrs Zanzibarine takes quokkamycin 5 mg once daily for her heart.", "letter.txt")


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def vaults(tmp_path: Path, clock: Clock) -> Iterator[Vaults]:
    made = Vaults(Settings(home=tmp_path / "home", lock_minutes=15), clock=clock)
    yield made
    made.close()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A new vault and its recovery phrase: made once, since making one is slow on purpose."""
    vaults = Vaults(Settings(home=tmp_path_factory.mktemp("template")))
    header, phrase = vaults.create("me", PASSPHRASE)
    return vaults.folder / header.id, phrase


@pytest.fixture
def made(vaults: Vaults, template: tuple[Path, str]) -> tuple[Header, str]:
    folder, phrase = template
    shutil.copytree(folder, vaults.folder / folder.name)
    return Header.read(vaults.folder / folder.name), phrase


def opened(vaults: Vaults, header: Header, embedder: MiniLM, passphrase: str = PASSPHRASE) -> OpenVault:
    profile = vaults.open(header.id, passphrase)
    profile.app.__dict__["embedder"] = embedder  # the model is loaded once for all tests
    return profile


def folder_of(vaults: Vaults, header: Header) -> VaultFolder:
    return VaultFolder(vaults.folder / header.id)


def test_a_vault_holds_documents_search_and_questions_and_opens_again(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    app = opened(vaults, made[0], embedder).app
    app.add_source(LETTER)
    answer = app.ask("How much quokkamycin?")
    assert "5 mg" in answer.text
    vaults.lock(made[0].id)

    app = opened(vaults, made[0], embedder).app
    assert [hit.text for hit in app.search("quokkamycin").hits] == [LETTER.data.decode()]
    assert app.ask_service.audit.verify_chain(app.tenant).problems == ()
    assert [one.title for one in app.ask_service.conversations.all(app.owner())] == ["How much quokkamycin?"]


def test_no_word_of_the_record_is_in_any_file_while_it_is_open_or_after(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    for name in ("TMPDIR", "SQLITE_TMPDIR"):
        monkeypatch.setenv(name, str(temporary))
    profile = opened(vaults, made[0], embedder)
    profile.record.import_source(LETTER)
    for dose in ("5 mg", "50 mg"):
        profile.record.add("medication", {"generic_name": "Quokkamycin", "dose": dose})
    (alert,) = profile.record.alerts()
    profile.record.dismiss(alert.id, why="Zanzibarine said so")
    profile.app.ask("How much quokkamycin for Mrs Zanzibarine?", asker=profile.app.owner(subject="self"))

    def found() -> str:
        # Another process looks: opening the file in this one would drop SQLite's locks.
        words = [argument for word in SECRET_WORDS for argument in ("-e", word)]
        command = ["grep", "--recursive", "--text", "--ignore-case", "--files-with-matches", *words, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    names = {path.name for path in folder_of(vaults, made[0]).path.iterdir()}
    assert names == {"vault.json", "vault.db", "vault.db-wal", "vault.db-shm"}
    assert found() == ""
    vaults.export(made[0].id, PASSPHRASE, tmp_path / "copy.vault")
    vaults.close()
    assert {path.name for path in folder_of(vaults, made[0]).path.iterdir()} == {"vault.json", "vault.db"}
    assert found() == ""
    (tmp_path / "control.txt").write_bytes(LETTER.data)
    assert found().split() == [str(tmp_path / "control.txt")]  # the search itself does find such words


def test_only_the_label_stands_outside(vaults: Vaults, made: tuple[Header, str]) -> None:
    told = json.loads((folder_of(vaults, made[0]).path / "vault.json").read_text())
    assert set(told) == {"format", "id", "label", "made_at", "derivation", "passphrase", "recovery", "wrong"}
    assert [(one.label, one.id) for one in vaults.all()] == [("me", made[0].id)]
    modes = {path.stat().st_mode & 0o777 for path in folder_of(vaults, made[0]).path.iterdir()}
    assert modes == {0o600}
    assert folder_of(vaults, made[0]).path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("wrong", ["", "three green bicycleS", PASSPHRASE + " ", "\N{PILE OF POO}" * 10_000])
def test_a_wrong_passphrase_says_the_same_and_nothing_else(
    vaults: Vaults, made: tuple[Header, str], wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(WrongSecret) as raised:
        vaults.open(made[0].id, wrong)
    assert str(raised.value) == str(WrongSecret())
    assert "bicycle" not in caplog.text


@pytest.mark.slow
def test_a_passphrase_typed_on_another_keyboard_is_the_same(vaults: Vaults) -> None:
    composed, decomposed = "caf\u00e9 caf\u00e9 caf\u00e9", "cafe\u0301 cafe\u0301 cafe\u0301"
    header, _phrase = vaults.create("me", composed)
    assert not vaults.open(header.id, decomposed).is_locked


@pytest.mark.slow
def test_wrong_tries_have_to_wait_longer_each_time_and_a_right_one_ends_it(
    vaults: Vaults, made: tuple[Header, str]
) -> None:
    folder, now = folder_of(vaults, made[0]), datetime(2026, 1, 1, tzinfo=UTC)
    for _ in range(FREE_TRIES):
        with pytest.raises(WrongSecret):
            folder.unlock("wrong wrong wrong", now=now)
    with pytest.raises(VaultWaits) as raised:
        folder.unlock(PASSPHRASE, now=now)  # even the right one: nothing is told by trying
    assert (raised.value.wait_s, str(raised.value)) == (1, "Too many wrong attempts. Wait 1 s, then try again.")
    with pytest.raises(WrongSecret):
        folder.unlock("wrong wrong wrong", now=now + timedelta(seconds=1))
    with pytest.raises(VaultWaits) as raised:
        VaultFolder(folder.path).unlock(PASSPHRASE, now=now + timedelta(seconds=1))
    assert raised.value.wait_s == 2
    folder.unlock(PASSPHRASE, now=now + timedelta(seconds=3)).wipe()
    assert folder.header.wrong.count == 0


@pytest.mark.slow
def test_a_clock_that_was_set_back_locks_nobody_out(vaults: Vaults, made: tuple[Header, str]) -> None:
    folder, now = folder_of(vaults, made[0]), datetime(2036, 1, 1, tzinfo=UTC)
    for _ in range(FREE_TRIES):
        with pytest.raises(WrongSecret):
            folder.unlock("wrong wrong wrong", now=now)
    assert folder.header.wrong.wait_s(now - timedelta(days=3650)) == 1


@pytest.mark.slow
def test_changing_the_passphrase_leaves_the_data_as_it_is_encrypted(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    opened(vaults, made[0], embedder).app.add_source(LETTER)
    vaults.lock(made[0].id)
    before = folder_of(vaults, made[0]).data.read_bytes()
    vaults.change_passphrase(made[0].id, PASSPHRASE, "four yellow tandems")
    assert folder_of(vaults, made[0]).data.read_bytes() == before
    with pytest.raises(WrongSecret):
        vaults.open(made[0].id, PASSPHRASE)
    assert len(opened(vaults, made[0], embedder, "four yellow tandems").app.entries()) == 1


@pytest.mark.slow
def test_the_recovery_phrase_sets_a_new_passphrase(vaults: Vaults, made: tuple[Header, str]) -> None:
    header, phrase = made
    vaults.recover(header.id, f"  {phrase.upper()}\n", "four yellow tandems")
    assert not vaults.open(header.id, "four yellow tandems").is_locked
    with pytest.raises(WrongSecret):
        vaults.recover(header.id, new_phrase(), "five purple unicycles")
    again = vaults.new_recovery(header.id, "four yellow tandems")
    assert again != phrase
    with pytest.raises(WrongSecret):
        vaults.recover(header.id, phrase, "five purple unicycles")
    vaults.recover(header.id, again, "five purple unicycles")


def test_the_recovery_phrase_does_not_open_it_as_a_passphrase(vaults: Vaults, made: tuple[Header, str]) -> None:
    with pytest.raises(WrongSecret):
        vaults.open(made[0].id, made[1])


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("one two three", "Enter all 12 recovery words in order; there are 3."),
        ("zebra " * 11 + "zebar", "Check the spelling of word 12: it is not a recovery word."),
        ("zebra " * 12, "These are not matching recovery words. Check each word and their order."),
    ],
)
def test_a_mistyped_recovery_phrase_says_what_to_check(typed: str, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_phrase(typed)


@pytest.mark.slow
def test_a_passphrase_that_another_window_changes_meanwhile_stays_changed(
    vaults: Vaults, made: tuple[Header, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, unwrapped = folder_of(vaults, made[0]), Header.unwrapped

    def slowly(header: Header, way: Way, phrase: str) -> VaultKey:
        key = unwrapped(header, way, phrase)
        folder.rewrap(key, "four yellow tandems")  # what the other window does while this one is at it
        return key

    with monkeypatch.context() as patch:
        patch.setattr(Header, "unwrapped", slowly)
        folder.unlock(PASSPHRASE)
    folder.unlock("four yellow tandems").wipe()
    with pytest.raises(WrongSecret):
        folder.unlock(PASSPHRASE)


def test_a_vault_whose_tables_are_newer_is_left_alone(vaults: Vaults, made: tuple[Header, str]) -> None:
    library = vaults.open(made[0].id, PASSPHRASE).app.library
    with writing(library.engine, library.path) as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    vaults.lock(made[0].id)
    with pytest.raises(SchemaTooNew, match="Upgrade Citewell"):
        vaults.open(made[0].id, PASSPHRASE)


def test_a_locked_vault_has_no_key_and_gives_nothing(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    profile = opened(vaults, made[0], embedder)
    app, key = profile.app, profile._key
    app.add_source(LETTER)
    vaults.lock(made[0].id)
    assert (profile.is_locked, key.is_wiped, bytes(key._bytes)) == (True, True, bytes(32))
    for use in (lambda: profile.app, profile.touch, lambda: vaults.profile(made[0].id), app.entries, key.read):
        with pytest.raises(VaultLocked):
            use()


def test_what_was_read_is_gone_from_memory_once_it_is_locked(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    profile = opened(vaults, made[0], embedder)
    profile.record.import_source(LETTER)
    assert (
        "5 mg"
        in profile.ask_service.answer("How much quokkamycin?", asker=profile.app.owner(subject="self")).answer.text
    )
    parts = (profile.app, profile.app.index, profile.app._likeness, profile.record.facts)
    held = {type(part).__name__: weakref.ref(part) for part in parts}
    del parts
    assert medicines.cache_info().currsize > 0
    gc.disable()  # or a collection by chance would do what locking has to
    try:
        vaults.lock(made[0].id)
        assert [name for name, part in held.items() if part() is not None] == []
        assert medicines.cache_info().currsize == read.cache_info().currsize == 0
    finally:
        gc.enable()


def test_another_model_writes_from_the_next_question_on_and_nothing_read_before_stays(
    tmp_path: Path, made: tuple[Header, str], embedder: MiniLM
) -> None:
    served = {"model": "openai:none", "model_url": "http://127.0.0.1:9/v1", "allowed_models": ("none=8192/512",)}
    vaults = Vaults(Settings.model_validate({"home": tmp_path / "home", **served}))
    profile = opened(vaults, made[0], embedder)
    profile.record.import_source(LETTER)
    assert profile.app.search("quokkamycin", scope=profile.app.scope(subject="self")).hits
    before = weakref.ref(profile.app.index)
    profile.choose(RecordSettings(model="extractive"))
    gc.collect()
    assert (profile.app.settings.model, before()) == ("extractive", None)
    profile.app.__dict__["embedder"] = embedder
    answer = profile.ask_service.answer("How much quokkamycin?", asker=profile.app.owner(subject="self")).answer
    assert (answer.model, "5 mg" in answer.text) == ("extractive", True)
    vaults.lock(made[0].id)
    assert profile.is_locked
    assert opened(vaults, made[0], embedder).app.settings.model == "extractive"
    vaults.close()


def test_a_question_too_long_to_be_answered_still_gets_the_way_to_help(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    profile = opened(vaults, made[0], embedder)
    asker = profile.app.owner(subject="self")
    with pytest.raises(InputError, match=r"^This may be an emergency.*limit is 4,000 characters"):
        profile.ask_service.ask(f"I have crushing chest pain right now. {'And so on. ' * 9_000}", asker=asker)
    with pytest.raises(InputError, match=r"^The question is too long\. The limit is 4,000 characters"):
        profile.ask_service.ask("What is my dose? " * 9_000, asker=asker)


def test_a_vault_is_searched_within_itself_whatever_copy_the_library_has(
    tmp_path: Path, made: tuple[Header, str], embedder: MiniLM
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        elsewhere.setblocking(False)
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}"
        vaults = Vaults(Settings(home=tmp_path / "home", qdrant_url=url))
        app = opened(vaults, made[0], embedder).app
        app.add_source(LETTER)
        assert [hit.text for hit in app.search("quokkamycin").hits] == [LETTER.data.decode()]
        vaults.close()
        with pytest.raises(BlockingIOError):
            elsewhere.accept()  # nobody came to ask


def test_a_vault_that_nobody_uses_is_locked(vaults: Vaults, made: tuple[Header, str], clock: Clock) -> None:
    profile = vaults.open(made[0].id, PASSPHRASE)
    clock.now += 14 * 60
    assert (vaults.lock_idle(), vaults.profile(made[0].id).is_locked) == (0, False)
    profile.touch()
    clock.now += 14 * 60
    assert (vaults.lock_idle(), profile.is_locked) == (0, False)
    clock.now += 2 * 60
    with pytest.raises(VaultLocked):
        vaults.profile(made[0].id)
    assert profile.is_locked


def test_a_long_import_keeps_the_vault_open_and_a_locked_one_ends_it(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM, clock: Clock
) -> None:
    profile = opened(vaults, made[0], embedder)

    def ten_minutes(_step: Step) -> None:
        clock.now += 10 * 60
        vaults.lock_idle()

    steps: list[Step] = []
    profile.record.import_source(LETTER, watch=lambda step: (steps.append(step), ten_minutes(step))[1])
    assert len(steps) >= 3  # half an hour and more, and not one quarter of it without a sign of life
    assert not profile.is_locked

    with pytest.raises(VaultLocked):
        profile.record.import_source(Source(b"Another letter.", "b.txt"), watch=lambda _step: profile.lock())
    assert [one.name for one in opened(vaults, made[0], embedder).app.entries()] == ["letter.txt"]


@pytest.mark.slow
def test_the_watch_locks_an_idle_vault_without_being_asked(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(home=tmp_path / "home", lock_minutes=15)
    object.__setattr__(settings, "lock_minutes", 0.0005)  # shorter than a person may choose
    vaults = Vaults(settings, clock=clock)
    profile = vaults.open(vaults.create("me", PASSPHRASE)[0].id, PASSPHRASE)
    clock.now += 60
    while not profile.is_locked:  # the test's own time limit ends a watch that sleeps for ever
        vaults._closing.wait(0.01)
    vaults.close()


@pytest.mark.slow
def test_one_flipped_byte_anywhere_in_the_data_fails_to_open(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    opened(vaults, made[0], embedder).app.add_source(LETTER)
    vaults.lock(made[0].id)
    path = folder_of(vaults, made[0]).data
    whole = path.read_bytes()
    key = folder_of(vaults, made[0]).unlock(PASSPHRASE)
    for position in (0, 20, 4095, len(whole) // 2, len(whole) - 1, *range(5000, len(whole), len(whole) // 7)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        with pytest.raises(LibraryError, match="damaged"):
            folder_of(vaults, made[0]).library(key)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LibraryError, match="damaged"):
        folder_of(vaults, made[0]).library(key)
    path.write_bytes(whole)
    folder_of(vaults, made[0]).library(key).close()


@pytest.mark.slow
def test_one_flipped_digit_of_a_wrapped_key_or_its_cost_opens_nothing(vaults: Vaults, made: tuple[Header, str]) -> None:
    header = folder_of(vaults, made[0]).header
    kept, flip = header.passphrase, lambda data: data[:-1] + bytes([data[-1] ^ 1])
    for wrong in (
        replace(header, passphrase=WrappedKey(flip(kept.salt), kept.sealed)),
        replace(header, passphrase=WrappedKey(kept.salt, flip(kept.sealed))),
        replace(header, passphrase=header.recovery),
        replace(header, derivation=Derivation(header.derivation.time_cost + 1)),
        replace(header, id="00000000-0000-4000-8000-000000000000"),
    ):
        with pytest.raises(WrongSecret):
            wrong.unwrapped("passphrase", PASSPHRASE)


def test_a_cheap_or_endless_cost_is_refused(vaults: Vaults, made: tuple[Header, str]) -> None:
    path = folder_of(vaults, made[0]).path / "vault.json"
    told = json.loads(path.read_text())
    for cost in ({"time_cost": 1}, {"time_cost": 10**9}, {"memory_kib": 8}, {"memory_kib": 2**40}, {"lanes": 0}):
        path.write_text(json.dumps(told | {"derivation": told["derivation"] | cost}))
        with pytest.raises(LibraryError, match="Restore"):
            folder_of(vaults, made[0]).unlock(PASSPHRASE)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": "1"}', "\x00"])
def test_a_damaged_header_says_so(vaults: Vaults, made: tuple[Header, str], text: str) -> None:
    (folder_of(vaults, made[0]).path / "vault.json").write_text(text)
    with pytest.raises(LibraryError, match="Restore the vault from an export"):
        folder_of(vaults, made[0]).unlock(PASSPHRASE)


def test_a_vault_of_a_newer_version_is_left_alone(vaults: Vaults, made: tuple[Header, str]) -> None:
    path = folder_of(vaults, made[0]).path / "vault.json"
    path.write_text(json.dumps({"format": 2, "shape": "unknown"}))
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="Upgrade Citewell"):
        folder_of(vaults, made[0]).unlock(PASSPHRASE)
    assert path.read_bytes() == before


def test_one_damaged_vault_does_not_hide_the_others(vaults: Vaults, made: tuple[Header, str]) -> None:
    for name, text in (("00000000-bad", "{"), ("00000000-newer", '{"format": 9}'), ("00000000-empty", None)):
        (vaults.folder / name).mkdir()
        if text is not None:
            (vaults.folder / name / "vault.json").write_text(text)
    assert [one.id for one in vaults.all()] == [made[0].id]
    assert not vaults.open(made[0].id, PASSPHRASE).is_locked
    told = vaults.unreadable()
    assert set(told) == {"00000000-bad", "00000000-newer", "00000000-empty"}
    assert "Upgrade Citewell" in told["00000000-newer"]
    with pytest.raises(SchemaTooNew):
        vaults.open("00000000-newer", PASSPHRASE)
    for name in told:
        vaults.erase(name)
    assert vaults.unreadable() == {}


def test_what_a_stopped_program_left_half_made_is_not_seen_and_swept_later(vaults: Vaults) -> None:
    half, fresh = (vaults.folder / f".new-{name}" for name in ("half", "fresh"))
    for folder in (half, fresh):
        folder.mkdir(parents=True)
        (folder / "vault.db").write_bytes(b"half")
    os.utime(half, (0, 0))
    assert (vaults.all(), vaults.unreadable()) == ([], {})
    vaults.create("me", PASSPHRASE)
    assert (half.exists(), fresh.exists()) == (False, True)


def test_a_second_window_of_one_program_shares_the_open_vault(vaults: Vaults, made: tuple[Header, str]) -> None:
    first = vaults.open(made[0].id, PASSPHRASE)
    assert vaults.open(made[0].id, PASSPHRASE) is first
    with pytest.raises(WrongSecret):
        vaults.open(made[0].id, "not the passphrase")
    assert not first.is_locked


def test_an_export_is_a_whole_copy_that_opens_elsewhere(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM, tmp_path: Path
) -> None:
    profile = opened(vaults, made[0], embedder)
    profile.app.add_source(LETTER)  # still open, its newest pages in the log
    copy = tmp_path / "copy.vault"
    vaults.export(made[0].id, PASSPHRASE, copy)
    with zipfile.ZipFile(copy) as archive:
        assert archive.namelist() == ["vault.json", "vault.db"]
    with pytest.raises(InputError, match="already exists"):
        vaults.export(made[0].id, PASSPHRASE, copy)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.vault", "home"]

    elsewhere = Vaults(Settings(home=tmp_path / "elsewhere"))
    restored = elsewhere.restore(copy)
    assert [entry.name for entry in opened(elsewhere, restored, embedder).app.entries()] == ["letter.txt"]
    with pytest.raises(InputError, match="already here"):
        elsewhere.restore(copy)
    elsewhere.close()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"a letter"])
def test_what_is_no_export_is_not_restored(vaults: Vaults, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.vault").write_bytes(data)
    with pytest.raises(InputError, match="not a complete copy of a record"):
        vaults.restore(tmp_path / "x.vault")
    assert vaults.all() == []


def test_an_export_cannot_name_a_place_outside_the_folder(
    vaults: Vaults, made: tuple[Header, str], tmp_path: Path
) -> None:
    header = replace(folder_of(vaults, made[0]).header, id="../../outside")
    with zipfile.ZipFile(tmp_path / "x.vault", "w") as archive:
        archive.writestr("vault.json", json.dumps(header.as_json()))
        archive.writestr("vault.db", b"")
    with pytest.raises(InputError, match="not a complete copy of a record"):
        vaults.restore(tmp_path / "x.vault")


def copy_of(
    header: Header, target: Path, *, how: int = zipfile.ZIP_STORED, text: str | None = None, **fields: object
) -> Path:
    """A copy as somebody else might have put it together."""
    with zipfile.ZipFile(target, "w", how) as archive:
        archive.writestr("vault.json", text or json.dumps(header.as_json() | fields))
        archive.writestr("vault.db", b"\0" * 4096)
    return target


@pytest.mark.parametrize("label", ["x" * 41, "", "a\x1b[2J", "\ud800"])
def test_a_copy_whose_label_cannot_be_shown_is_not_restored(
    vaults: Vaults, made: tuple[Header, str], tmp_path: Path, label: str
) -> None:
    vaults.erase(made[0].id)
    with pytest.raises(InputError, match="Enter a label of 1 to 40 characters"):
        vaults.restore(copy_of(made[0], tmp_path / "x.vault", label=label))
    assert (vaults.all(), vaults.unreadable()) == ([], {})


def test_a_copy_whose_id_is_written_otherwise_is_kept_under_the_id_that_it_means(
    vaults: Vaults, made: tuple[Header, str], tmp_path: Path
) -> None:
    vaults.erase(made[0].id)
    odd = copy_of(made[0], tmp_path / "x.vault", id=f"{{{made[0].id.upper()}}}")
    assert vaults.restore(odd).id == made[0].id
    assert [one.id for one in vaults.all()] == [made[0].id]
    folder_of(vaults, made[0]).unlock(PASSPHRASE).wipe()
    vaults.erase(made[0].id)
    assert vaults.all() == []


def test_a_copy_that_unfolds_or_breaks_off_is_refused_before_it_is_read(
    vaults: Vaults, made: tuple[Header, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vaults.erase(made[0].id)
    whole = copy_of(made[0], tmp_path / "whole.vault").read_bytes()
    central = whole.index(b"PK\x01\x02")
    wrong = {
        "packed": copy_of(made[0], tmp_path / "a", how=zipfile.ZIP_DEFLATED, extra=" " * 10_000_000).read_bytes(),
        "long": copy_of(made[0], tmp_path / "b", extra=" " * 20_000).read_bytes(),
        "deep": copy_of(made[0], tmp_path / "c", text="[" * 10_000).read_bytes(),
        "locked": whole[: central + 8] + b"\x01" + whole[central + 9 :],
        "short": whole[:5000] + whole[central:],
    }
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "read", lambda *_arguments: pytest.fail("it was read"))
        for name in ("packed", "long", "locked"):
            with pytest.raises(InputError, match="not a complete copy of a record"):
                vaults.restore(io.BytesIO(wrong[name]))
    for name in ("deep", "short"):
        with pytest.raises(InputError, match="not a complete copy of a record"):
            vaults.restore(io.BytesIO(wrong[name]))
    assert (vaults.all(), vaults.unreadable(), list(vaults.folder.iterdir())) == ([], {}, [])


def test_a_folder_that_holds_the_header_of_another_vault_is_told_and_can_be_erased(
    vaults: Vaults, made: tuple[Header, str]
) -> None:
    shutil.copytree(folder_of(vaults, made[0]).path, vaults.folder / "mum")
    assert [one.id for one in vaults.all()] == [made[0].id]
    assert "belongs to a different vault" in vaults.unreadable()["mum"]
    vaults.erase("mum")
    assert ([one.id for one in vaults.all()], vaults.unreadable()) == ([made[0].id], {})


def test_erasing_overwrites_the_keys_before_anything_is_removed(
    vaults: Vaults, made: tuple[Header, str], tmp_path: Path
) -> None:
    folder = folder_of(vaults, made[0]).path
    kept = tmp_path / "still-linked.json"
    kept.hardlink_to(folder / "vault.json")
    data = tmp_path / "still-linked.db"
    data.hardlink_to(folder / "vault.db")
    before, sealed = data.read_bytes(), made[0].passphrase.sealed.hex()
    assert sealed in kept.read_text()
    vaults.erase(made[0].id)
    assert sealed.encode() not in kept.read_bytes()
    assert data.read_bytes()[:16] != before[:16]
    assert (folder.exists(), vaults.all()) == (False, [])
    with pytest.raises(NotFound):
        vaults.open(made[0].id, PASSPHRASE)


@pytest.mark.slow
def test_several_profiles_do_not_see_each_other(vaults: Vaults, made: tuple[Header, str], embedder: MiniLM) -> None:
    mum, _phrase = vaults.create("mum", "another long passphrase")
    opened(vaults, made[0], embedder).app.add_source(LETTER)
    assert opened(vaults, mum, embedder, "another long passphrase").app.entries() == []
    assert [one.label for one in vaults.all()] == ["me", "mum"]
    assert [vaults.find(named).id for named in ("ME", "mum", mum.id[:8])] == [made[0].id, mum.id, mum.id]
    with pytest.raises(InputError, match="several vaults"):
        vaults.find(None)
    with pytest.raises(InputError, match="already"):
        vaults.create("Mum ", PASSPHRASE)


@pytest.mark.parametrize("label", ["", "  ", "x" * 41, "a\x1b[2J"])
def test_a_label_can_be_shown(vaults: Vaults, label: str) -> None:
    with pytest.raises(InputError, match="label"):
        vaults.create(label, PASSPHRASE)


def test_a_short_passphrase_is_refused_before_anything_is_made(vaults: Vaults) -> None:
    with pytest.raises(InputError, match="10 characters"):
        vaults.create("me", "short    ")
    assert vaults.all() == []


def test_two_windows_work_on_one_vault(vaults: Vaults, made: tuple[Header, str], embedder: MiniLM) -> None:
    other = Vaults(vaults._settings)
    opened(vaults, made[0], embedder).app.add_source(LETTER)
    second = opened(other, made[0], embedder)
    second.app.add_source(Source(b"A second letter about her knee.", "second.txt"))
    assert len(vaults.profile(made[0].id).app.entries()) == 2
    other.close()
    assert len(vaults.profile(made[0].id).app.entries()) == 2


def test_a_key_shows_itself_nowhere() -> None:
    key = VaultKey(b"k" * 32)
    assert repr(key) == "Key(***)"
    assert "6b6b" not in repr(WrappedKey.of(key, PASSPHRASE, derivation=Derivation(3, 65536), about="x"))


def test_vectors_of_an_older_built_in_model_are_made_again_when_a_vault_is_opened(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = "minilm-l6-v2:53aa5117:mean:256:384"
    with monkeypatch.context() as before:
        before.setattr(MiniLM, "fingerprint", older)
        app = opened(vaults, made[0], embedder).app
        app.add_source(LETTER)
        assert app.library.embedder() == older
        vaults.lock(made[0].id)
    again = opened(vaults, made[0], embedder).app
    assert again.library.embedder() == embedder.fingerprint
    assert again.search("quokkamycin").hits


def holding(word: str) -> list[object]:
    """What in this process refers to a text that has this word, keys and values of dictionaries among it."""
    gc.collect()
    found: list[object] = []
    for one in gc.get_objects():
        if type(one) in (dict, OrderedDict):
            parts: list[object] = [*one.keys(), *one.values()]
        elif type(one) in (list, tuple, set, frozenset):
            parts = [*one]
        else:
            parts = [getattr(one, name, None) for name in getattr(type(one), "__slots__", ())]
        found += [one for part in parts if type(part) is str and word in part]
    return found


def test_nothing_that_was_read_stays_in_memory_when_a_vault_is_locked(
    vaults: Vaults, made: tuple[Header, str], embedder: MiniLM
) -> None:
    word = "quokka" + "berg"
    profile = opened(vaults, made[0], embedder)
    text = f"Clinic letter\n\nDiagnosis: asthma since 2019, seen by Dr {word.title()}. No chest pain.\n".encode()
    profile.record.import_source(Source(text, "asthma.txt"))
    question = f"What did Dr {word.title()} diagnose?"
    profile.ask_service.answer(question, asker=profile.app.owner(subject="self"))
    assert holding(word.title())
    profile.lock()
    del text, question
    assert [type(one) for one in holding(word.title())] == []
