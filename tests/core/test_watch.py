"""Watched folders: what is new is added, what changes becomes a version, what is gone is withdrawn, and no more."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell.app import App, build
from citewell.config import Settings
from citewell.errors import InputError, NotFound, Unavailable
from citewell.history import TrailFilter
from citewell.operations.watch import keep_watching, look_at_all, watch_folder
from citewell.types import Filing, LibraryEntry, LifecycleState, Scope
from citewell.types.watched import WatchedFolder

IRON = "Ferrous sulfate 200 mg is taken with water."
ZINC = "Zinc 20 mg is given once a day for 10 days."
PUBLIC = Scope("local", frozenset({"public"}), None, None)


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An empty library that waits only a moment for files to settle."""
    with build(Settings(home=tmp_path / "home", watch_settle_s=0.05, watch_seconds=0.05)) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    (made / "policies").mkdir(parents=True)
    (made / "iron.txt").write_text(IRON)
    (made / "policies" / "zinc.txt").write_text(ZINC)
    return made


def watched(app: App, folder: Path, *tags: str, rules: tuple[str, ...] = ()) -> WatchedFolder:
    watch_folder(app, str(folder), tags=frozenset(tags), rules=rules)
    return look(app)


def look(app: App, *, is_confirmed: bool = False) -> WatchedFolder:
    (looked,) = look_at_all(app, is_confirmed=is_confirmed)
    return looked


def words(looked: WatchedFolder) -> str:
    assert looked.look is not None
    return looked.look.words


def shelf(app: App) -> dict[str, tuple[str, int, tuple[str, ...]]]:
    """State, version and tags of the newest version of each document, by its name."""
    newest: dict[str, LibraryEntry] = {}
    for entry in sorted(app.entries(), key=lambda entry: entry.version):
        newest[entry.lineage] = entry
    return {entry.name: (entry.state.value, entry.version, entry.tags) for entry in newest.values()}


def test_new_files_are_added_with_the_tags_of_their_folder(app: App, folder: Path) -> None:
    looked = watched(app, folder, "ward", rules=("policies=policy,ward",))
    assert (words(looked), looked.documents, looked.problem) == ("2 added", 2, None)
    assert shelf(app) == {"iron.txt": ("completed", 1, ("ward",)), "zinc.txt": ("completed", 1, ("policy", "ward"))}
    assert words(look(app)) == "nothing new"
    assert app.ask("How much zinc is given?").citations[0].document == "zinc"


def test_without_tags_nobody_but_administrators_sees_the_documents(app: App, folder: Path) -> None:
    watched(app, folder)
    assert shelf(app) == dict.fromkeys(("iron.txt", "zinc.txt"), ("completed", 1, ("watched",)))
    assert app.search("zinc", scope=PUBLIC).hits == ()
    assert app.search("zinc").hits


def test_a_changed_file_is_a_new_version_with_the_tags_that_people_gave(app: App, folder: Path) -> None:
    watched(app, folder, "ward")
    (entry,) = (entry for entry in app.entries() if entry.name == "iron.txt")
    app.refile(entry.id, Filing(tags=frozenset({"pharmacy"})))
    (folder / "iron.txt").write_text(IRON.replace("200", "300"))
    assert words(look(app)) == "1 changed"
    assert shelf(app)["iron.txt"] == ("completed", 2, ("pharmacy",))
    assert app.ask("How much ferrous sulfate is taken?").citations[0].quote == IRON.replace("200", "300")


def test_a_touched_file_is_not_read_again(app: App, folder: Path) -> None:
    watched(app, folder, "ward")
    os.utime(folder / "iron.txt", (1, 1))
    assert words(look(app)) == "nothing new"
    assert shelf(app)["iron.txt"][1] == 1


def test_a_moved_file_keeps_its_document_and_gets_the_tags_of_its_new_place(app: App, folder: Path) -> None:
    watched(app, folder, "ward", rules=("policies=policy",))
    before = {entry.name: entry.id for entry in app.entries()}
    (folder / "policies" / "zinc.txt").rename(folder / "zinc for children.txt")
    assert words(look(app)) == "1 moved"
    assert {entry.name: entry.id for entry in app.entries()} == before
    assert shelf(app)["zinc.txt"] == ("completed", 1, ("ward",))
    (place,) = app.watched.places(before["zinc.txt"], tenant=app.tenant)
    assert place[1].path == "zinc for children.txt"


def test_a_removed_file_is_withdrawn_and_back_again_restored(app: App, folder: Path) -> None:
    watched(app, folder, "ward")
    (folder / "iron.txt").unlink()
    assert words(look(app)) == "1 withdrawn"
    assert shelf(app)["iron.txt"] == ("withdrawn", 1, ("ward",))
    assert words(look(app)) == "nothing new"
    (folder / "iron again.txt").write_text(IRON)
    assert words(look(app)) == "1 moved, 1 restored"
    assert shelf(app)["iron.txt"] == ("completed", 1, ("ward",))
    (folder / "iron again.txt").unlink()
    look(app)
    (folder / "iron again.txt").write_text(IRON + " Stop it when the stool is black.")
    assert words(look(app)) == "1 changed"
    assert shelf(app)["iron again.txt"] == ("completed", 2, ("ward",))  # the next version of the same document


def test_two_files_of_one_name_and_title_are_two_documents(app: App, folder: Path) -> None:
    (folder / "a").mkdir()
    (folder / "a" / "iron.txt").write_text(IRON.replace("water", "juice"))
    watched(app, folder, "ward")
    current = [entry for entry in app.entries() if entry.is_current]
    assert [entry.name for entry in current].count("iron.txt") == 2
    assert len({entry.lineage for entry in current}) == 3


def test_a_copy_is_the_same_document_until_both_files_are_gone(app: App, folder: Path) -> None:
    shutil.copy(folder / "iron.txt", folder / "policies" / "copy.txt")
    assert (watched(app, folder, "ward").documents, len(app.entries())) == (2, 2)
    (folder / "iron.txt").unlink()
    assert words(look(app)) == "nothing new"
    (folder / "policies" / "copy.txt").unlink()
    assert words(look(app)) == "1 withdrawn"


def test_what_somebody_added_by_hand_is_neither_refiled_nor_withdrawn(app: App, folder: Path) -> None:
    app.add(folder / "iron.txt", filing=Filing(tags=frozenset({"public"})))
    assert words(watched(app, folder, "ward")) == "1 added"
    assert shelf(app)["iron.txt"] == ("completed", 1, ("public",))
    (folder / "iron.txt").unlink()
    assert words(look(app)) == "nothing new"
    assert shelf(app)["iron.txt"][0] == "completed"


def test_what_a_person_withdrew_or_erased_does_not_come_back_by_itself(app: App, folder: Path) -> None:
    watched(app, folder, "ward")
    ids = {entry.name: entry.id for entry in app.entries()}
    app.library.withdraw(ids["iron.txt"], app.scope_of_owner(), by="somebody")
    app.delete(ids["zinc.txt"])
    (folder / "iron.txt").write_text(IRON + " Keep it dry.")
    (folder / "policies" / "zinc.txt").write_text(ZINC + " Keep it dry.")
    looked = look(app)
    assert {path: problem.split(",")[0] for path, problem in looked.problems.items()} == {
        "iron.txt": "It changed",
        "policies/zinc.txt": "Its document was erased by hand",
    }
    assert [(entry.name, entry.state) for entry in app.entries()] == [("iron.txt", LifecycleState.WITHDRAWN)]


# ------------------------------------------------------------------------------------------------- a folder that lies


def test_a_missing_or_empty_folder_withdraws_nothing(app: App, folder: Path, tmp_path: Path) -> None:
    watched(app, folder, "ward")
    folder.rename(tmp_path / "elsewhere")
    looked = look(app)
    assert (
        looked.problem == f"The folder {folder} is not there. Nothing was changed. Check that its drive is connected."
    )
    folder.mkdir()  # as a mount point without its drive
    looked = look(app)
    assert (looked.problem or "").startswith("2 of 2 files are gone, so nothing was withdrawn")
    assert {state for state, _, _ in shelf(app).values()} == {"completed"}
    folder.rmdir()
    (tmp_path / "elsewhere").rename(folder)
    looked = look(app)
    assert (words(looked), looked.problem) == ("nothing new", None)
    shutil.rmtree(folder)
    folder.mkdir()
    assert words(look(app, is_confirmed=True)) == "2 withdrawn"
    assert {state for state, _, _ in shelf(app).values()} == {"withdrawn"}


def test_a_subfolder_that_cannot_be_opened_withdraws_nothing(
    app: App, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As root no folder is closed, so the system's own call fails here."""
    watched(app, folder, "ward")
    (folder / "iron.txt").unlink()
    scandir = os.scandir

    def failing(path: Path) -> object:
        if Path(path).name == "policies":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", failing)
    looked = look(app)
    assert looked.problem == "Some of the folder could not be opened, so nothing was withdrawn."
    assert looked.look is not None
    assert looked.look.skipped == {"policies": "could not be opened (Permission denied)"}
    assert {state for state, _, _ in shelf(app).values()} == {"completed"}


def test_half_of_many_files_gone_at_once_waits_for_a_person(app: App, folder: Path) -> None:
    for number in range(24):
        (folder / f"{number}.txt").write_text(f"Take {number} tablets of iron.")
    watched(app, folder, "ward")
    for number in range(15):
        (folder / f"{number}.txt").unlink()
    assert (look(app).problem or "").startswith("15 of 26 files are gone")
    (folder / "new.txt").write_text("Vitamin C 500 mg is taken with it.")
    assert words(look(app)) == "1 added"
    assert words(look(app, is_confirmed=True)) == "15 withdrawn"


def test_hidden_and_temporary_files_links_and_sockets_are_told_and_not_read(
    app: App, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = folder.parent / "secret.txt"
    outside.write_text("The secret is 42.")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "a.txt").write_text("Hidden.")
    (folder / "~$plan.docx").write_text("x")
    (folder / "half.pdf.part").write_text("x")
    (folder / "link.txt").symlink_to(outside)
    (folder / "linked").symlink_to(folder.parent, target_is_directory=True)
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(folder)  # the whole path is too long for a socket
        listening.bind("socket")
        looked = watched(app, folder, "ward")
    assert words(looked) == "2 added"
    assert looked.look is not None
    assert looked.look.skipped == {
        ".hidden": "hidden",
        "half.pdf.part": "a temporary file",
        "link.txt": "a link",
        "linked": "a link",
        "pipe": "not a file",
        "socket": "not a file",
        "~$plan.docx": "a temporary file",
    }


def test_a_file_that_changes_while_it_is_read_waits(app: App, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from citewell.adapters.folders import local

    read, growing = local._bytes_of, folder / "iron.txt"

    def written_meanwhile(path: Path) -> bytes:
        data = read(path)
        if path == growing:
            path.write_bytes(data + b" And more.")
        return data

    with monkeypatch.context() as patch:
        patch.setattr(local, "_bytes_of", written_meanwhile)
        assert words(watched(app, folder, "ward")) == "1 added, 1 still changing"
    assert [entry.name for entry in app.entries()] == ["zinc.txt"]
    assert words(look(app)) == "1 added"
    (entry,) = (entry for entry in app.entries() if entry.name == "iron.txt")
    assert app.library.original(entry.id, app.scope_of_owner()).data == growing.read_bytes()


def test_a_file_that_still_grows_is_not_read(app: App, folder: Path) -> None:
    stopped = threading.Event()

    def grow() -> None:
        with (folder / "iron.txt").open("a") as stream:
            while not stopped.wait(0.005):
                stream.write(" More.")
                stream.flush()

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        assert words(watched(app, folder, "ward")) == "1 added, 1 still changing"
    finally:
        stopped.set()
        writer.join()
    assert words(look(app)) == "1 added"


def test_a_file_that_cannot_be_read_is_told_once_and_tried_when_it_changes(app: App, folder: Path) -> None:
    (folder / "scan.pdf").write_bytes(b"%PDF-1.7 broken")
    (folder / "empty.txt").write_text("")
    looked = watched(app, folder, "ward")
    assert (words(looked), sorted(looked.problems)) == ("2 added", ["empty.txt", "scan.pdf"])
    (folder / "empty.txt").write_text("Magnesium 10 mmol is given slowly.")
    looked = look(app)
    assert (words(looked), sorted(looked.problems)) == ("1 added", ["scan.pdf"])
    (folder / "iron.txt").write_text("")  # a version that cannot be read leaves the one before
    looked = look(app)
    assert sorted(looked.problems) == ["iron.txt", "scan.pdf"]
    assert shelf(app)["iron.txt"] == ("completed", 1, ("ward",))
    (folder / "iron.txt").write_text(IRON)
    assert (words(look(app)), sorted(look(app).problems)) == ("nothing new", ["scan.pdf"])


def test_a_file_over_the_limit_is_told_and_not_read(app: App, folder: Path) -> None:
    with build(app.settings.model_copy(update={"max_file_mb": 1})) as small:
        (folder / "large.txt").write_bytes(b"a" * (1 << 20) + b"b")
        assert watched(small, folder, "ward").problems == {
            "large.txt": "It is over the limit of 1 MiB. Split it, or raise CITEWELL_MAX_FILE_MB."
        }


# --------------------------------------------------------------------------------------------------------- the list


def test_several_folders_are_watched_and_one_that_fails_does_not_stop_the_others(app: App, folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "copper.txt").write_text("Copper 1 mg is given.")
    watch_folder(app, str(folder), tags=frozenset({"ward"}))
    watch_folder(app, str(other), tags=frozenset({"lab"}))
    shutil.rmtree(folder)
    first, second = look_at_all(app)
    assert (first.problem is None, words(second)) == (False, "1 added")
    app.watched.remove(str(other), tenant=app.tenant)
    assert [listed.address for listed in app.watched.all(tenant=app.tenant)] == [str(folder)]
    assert shelf(app)["copper.txt"][0] == "completed"
    with pytest.raises(NotFound):
        app.watched.remove(str(other), tenant=app.tenant)


def test_a_folder_filed_anew_gives_its_tags_to_all_but_what_people_filed(app: App, folder: Path) -> None:
    (folder / "copper.txt").write_text("Copper 1 mg is given.")
    watched(app, folder, "ward", rules=("policies=policy",))
    (copper,) = (entry for entry in app.entries() if entry.name == "copper.txt")
    app.refile(copper.id, Filing(tags=frozenset({"pharmacy"})))
    watch_folder(app, str(folder), tags=frozenset({"clinic"}))
    assert {name: tags for name, (_, _, tags) in shelf(app).items()} == {
        "iron.txt": ("clinic",),
        "zinc.txt": ("policy",),
        "copper.txt": ("pharmacy",),
    }
    watch_folder(app, str(folder), tags=frozenset(), rules=("policies=ward",))
    assert shelf(app)["zinc.txt"][2] == ("ward",)
    (looked,) = look_at_all(app)
    assert (words(looked), looked.tags, looked.rules) == ("nothing new", ("clinic",), {"policies": ("ward",)})


def test_a_copy_in_another_folder_is_withdrawn_once_both_are_gone(app: App, folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    shutil.copy(folder / "iron.txt", other / "copy.txt")
    (other / "copper.txt").write_text("Copper 1 mg is given.")
    for place in (folder, other):
        watch_folder(app, str(place), tags=frozenset({"ward"}))
    list(look_at_all(app))
    (folder / "iron.txt").unlink()
    assert [words(looked) for looked in look_at_all(app)] == ["nothing new", "nothing new"]
    (other / "copy.txt").unlink()
    assert [words(looked) for looked in look_at_all(app)] == ["nothing new", "1 withdrawn"]


def test_no_folder_is_watched_inside_another(app: App, folder: Path) -> None:
    watch_folder(app, str(folder), tags=frozenset())
    for place in (folder / "policies", folder.parent):
        with pytest.raises(InputError):
            watch_folder(app, str(place), tags=frozenset())
    watch_folder(app, f"{folder}/policies/..", tags=frozenset({"ward"}))  # the same one
    assert [listed.tags for listed in app.watched.all(tenant=app.tenant)] == [("ward",)]


def test_a_folder_is_refused_before_it_is_on_the_list(app: App, folder: Path) -> None:
    for address, rules, error in (
        (str(folder.parent / "nowhere"), (), Unavailable),
        (str(app.settings.home.parent), (), InputError),
        ("ftp://files.example/papers", (), InputError),
        (str(folder), ("policies",), InputError),
        (str(folder), ("policies=No Tag!",), InputError),
    ):
        with pytest.raises(error):
            watch_folder(app, address, tags=frozenset(), rules=rules)
    with pytest.raises(NotFound):
        watch_folder(app, str(folder), tags=frozenset(), journeys=frozenset({"nowhere"}))
    assert app.watched.all(tenant=app.tenant) == []


def test_the_trail_and_the_history_tell_what_was_done(app: App, folder: Path) -> None:
    watched(app, folder, "ward")
    (folder / "iron.txt").write_text(IRON + " Keep it dry.")
    look(app)
    (folder / "iron.txt").unlink()
    look(app)
    events = [record.event for record in app.trail.records(app.tenant, TrailFilter())]
    assert sorted((event.way, event.action, event.user_id) for event in events) == [
        ("watch", "document.add", "owner"),
        ("watch", "document.add", "owner"),
        ("watch", "document.replace", "owner"),
        ("watch", "document.withdraw", "owner"),
    ]
    (entry,) = (entry for entry in app.entries() if entry.state is LifecycleState.WITHDRAWN)
    assert {event.by for event in app.library.history(entry.id, app.scope_of_owner())} == {"owner"}


def test_a_stop_waits_for_the_file_at_hand_alone_and_the_next_look_goes_on(app: App, folder: Path) -> None:
    for number in range(40):
        (folder / f"{number}.txt").write_text(f"Take {number} tablets of iron.")
    watch_folder(app, str(folder), tags=frozenset({"ward"}))
    list(look_at_all(app, is_stopped=lambda: len(app.entries()) >= 3))
    assert len(app.entries()) == 3
    assert words(look(app)) == "39 added"


def test_it_goes_on_until_it_is_stopped(app: App, folder: Path) -> None:
    watch_folder(app, str(folder), tags=frozenset({"ward"}))
    stopped, told = threading.Event(), list[str]()

    def tell(looked: WatchedFolder) -> None:
        told.append(words(looked))
        if words(looked) == "2 added":
            (folder / "iron.txt").unlink()
        elif words(looked) == "1 withdrawn":
            stopped.set()

    keep_watching(app, stopped, tell)
    assert [one for one in told if one != "nothing new"] == ["2 added", "1 withdrawn"]
