"""`citewell doctor`: check every part, and prove that nothing leaves the machine."""

from __future__ import annotations

import importlib.util
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from citewell import __version__
from citewell.cli.common import Home, Json, print_json, settings
from citewell.errors import CitewellError
from citewell.types import LifecycleState

if TYPE_CHECKING:
    from citewell.adapters.entailment.pair import AnswerReader, PairReader
    from citewell.app import App
    from citewell.config import Settings


Found = tuple[Literal["ok", "warning", "failed"], str]


def look_at_queue(app: App) -> Found:
    """How many documents wait or failed, who works, and whether the broker answers."""
    status = app.library.status(app.scope_of_owner())
    waiting = status.states[LifecycleState.QUEUED] + status.states[LifecycleState.PROCESSING] + status.rereading
    failed = status.states[LifecycleState.FAILED]
    alive = sum(not worker.is_silent for worker in status.workers)
    detail = f"{waiting} queued, {failed} failed, {alive} {'worker' if alive == 1 else 'workers'} running"
    broker = app.settings.broker_url
    if broker is not None:
        from citewell.adapters.queue.celery import CeleryQueue

        length = CeleryQueue(broker.get_secret_value()).length()
        if length is None:
            return "failed", f"{detail}; Redis is not responding: start it, or correct CITEWELL_BROKER_URL"
        if not alive:
            return "warning", f"{detail}: start one with `citewell worker`"
    return ("warning", f"{detail}: see `citewell evidence list`") if failed else ("ok", detail)


def look_at_originals(app: App) -> Found:
    """Whether original files can be kept, read back and removed."""
    from citewell.adapters.blobs import try_blobs

    store = app.library.blobs
    if store is None:
        return "ok", "kept in the library"
    try_blobs(store)
    return "ok", f"kept in {store.name} (tested)"


def look_at_replica(app: App) -> Found:
    """Whether the copy for searching answers, and how far it is."""
    from citewell.adapters.index.qdrant import QdrantIndex

    if not isinstance(app.index, QdrantIndex):
        return "ok", "none set: the library's own index is used"
    lag = app.index.lag()
    if lag.is_current:
        return "ok", "in step with the library"
    return "warning", f"{lag.documents} document versions behind: run `citewell replica feed --watch`"


def look_at_literature(app: App) -> Found:
    """Which indexes may be asked for articles; none is asked here."""
    allowed = app.settings.literature
    return ("ok", f"may contact {', '.join(allowed)}") if allowed else ("ok", "off: no index is contacted")


def look_at_model(app: App) -> Found:
    """Whether the language model is there; without one sentences are verbatim."""
    from citewell.adapters.llm.model_list import server_of
    from citewell.adapters.llm.vendors import split_spec

    if app.settings.model == "extractive":
        return "ok", "none set: answers are quoted word for word"
    vendor, name = split_spec(app.settings.model)
    try:
        with closing(server_of(app.settings, vendor)) as server:
            server.check(name)
    except CitewellError as error:
        return "failed", f"{error} Until then, answers are quoted word for word."
    return "ok", f"{app.settings.model} available"


def look_at_backups(app: App) -> Found:
    """Whether the newest scheduled backup is as new as it should be."""
    from citewell.operations.scheduled_backup import BackupSchedule

    schedule = BackupSchedule.of(app.settings)
    if schedule is None:
        return "ok", "none scheduled: set CITEWELL_BACKUP_FOLDER, or run `citewell backup` by hand"
    newest = schedule.newest()
    if newest is None:
        return "warning", f"none in {schedule.folder} yet: `citewell serve` makes one, or run `citewell backup`"
    detail = f"{len(schedule.made())} in {schedule.folder}, newest {newest:%Y-%m-%d %H:%M} UTC"
    if schedule.age_s(datetime.now(UTC)) > 2 * schedule.every.total_seconds():
        return "failed", f"{detail}: too old; run `citewell backup` to see why"
    return "ok", detail


def look_at_sign_in(app: App) -> Found:
    """Whether the sign-in provider answers, and lets anybody in."""
    from citewell.adapters.oidc.provider import Provider

    chosen = app.settings
    if chosen.oidc_issuer is None:
        return "ok", "passwords only; no provider set"
    Provider(chosen.oidc_issuer, client_id=chosen.oidc_client_id, client_secret=None).check()
    if not chosen.oidc_roles:
        return "failed", "the provider responds but no one can sign in: set CITEWELL_OIDC_ROLES"
    return "ok", f"passwords, and {chosen.oidc_issuer} (responding)"


def look_at_record_systems(app: App) -> Found:
    """Whether each record system that may open patients here responds and offers what a launch needs."""
    from citewell.adapters.smart.http import calling
    from citewell.adapters.smart.launch import begin

    chosen = app.settings
    for address, server in chosen.smart_servers.items():
        try:
            with calling(address, chosen.smart_timeout_s) as client:
                begin(client, address, server, back="", launch=None)
        except CitewellError as error:
            return "failed", f"{address}: {error}"
    return "ok", f"{', '.join(chosen.smart_servers)} (responding)" if chosen.smart_servers else "none set"


MIN_FREE_MB = 500
WRONG_VECTORS = "the model gives wrong vectors: reinstall it"
State = Literal["ok", "absent", "warning", "failed"]
"""Absent: an optional part that is not there, which is as good as one that is."""


@dataclass(frozen=True, slots=True)
class SystemCheck:
    """One part, how it is, and what to do about it."""

    part: str
    state: State
    detail: str


def doctor(
    context: typer.Context,
    no_egress: Annotated[
        bool, typer.Option("--no-egress", help="Check that adding and searching send nothing over the network.")
    ] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Check every part of the system. The exit status is 1 if any part fails."""
    chosen = settings(context, home)
    checks = [*_machine(chosen), *_library(chosen), *_extras()]
    if no_egress:
        checks += _egress(chosen)
    failed = [check for check in checks if check.state == "failed"]
    if json:
        print_json({"ok": not failed, "checks": checks})
    else:
        marks = {"ok": "✓", "absent": "–", "warning": "!", "failed": "✗"}
        for check in checks:
            typer.echo(f"{marks[check.state]} {check.part}: {check.detail}")
    if failed:
        raise typer.Exit(1)


def _machine(chosen: Settings) -> Iterator[SystemCheck]:
    yield SystemCheck("citewell", "ok", f"{__version__} on Python {platform.python_version()}, {platform.machine()}")
    place = chosen.home if chosen.home.exists() else chosen.home.parent
    while not place.exists():
        place = place.parent
    free_mb = shutil.disk_usage(place).free // 1_048_576
    state: State = "ok" if free_mb > MIN_FREE_MB else "warning"
    yield SystemCheck("disk", state, f"{free_mb:,} MiB free at {chosen.home}")


def _library(chosen: Settings) -> Iterator[SystemCheck]:
    """The library and all that search needs, tried for real."""
    from citewell.app import build

    try:
        app = build(chosen)
    except CitewellError as error:
        yield SystemCheck("library", "failed", str(error))
        return
    with app:
        for part, look in (
            ("database", _look_at_database),
            ("library", _look_at_documents),
            ("embedder", _look_at_embedder),
            ("index", _look_at_index),
            ("vocabulary", _look_at_vocabulary),
            ("queue", _look_at_queue),
            ("originals", _look_at_originals),
            ("audit log", _look_at_records),
            ("pair reader", _look_at_pair_reader),
            ("answer reader", _look_at_answer_reader),
            ("entailment", _look_at_entailment),
        ):
            yield _tried(part, app, look)
        yield from _named_parts(app)


def _named_parts(app: App) -> Iterator[SystemCheck]:
    """What is there only where a setting names it."""
    for part, look in (
        ("replica", look_at_replica),
        ("model", look_at_model),
        ("literature", look_at_literature),
        ("sign-in", look_at_sign_in),
        ("record systems", look_at_record_systems),
        ("backups", look_at_backups),
    ):
        try:
            yield SystemCheck(part, *look(app))
        except CitewellError as error:
            yield SystemCheck(part, "failed", str(error))


def _tried(part: str, app: App, look: Callable[[App], SystemCheck | str]) -> SystemCheck:
    try:
        check = look(app)
    except CitewellError as error:
        return SystemCheck(part, "failed", str(error))
    return check if isinstance(check, SystemCheck) else SystemCheck(part, "ok", check)


def _look_at_database(app: App) -> str:
    from citewell.adapters.store.database import database

    state = ", encrypted" if app.settings.library_key_file and app.settings.database_url is None else ""
    return f"{database(app.library.engine)}{state}"


def _look_at_documents(app: App) -> SystemCheck | str:
    result = app.verify()
    if result.problems:
        return SystemCheck("library", "failed", f"{len(result.problems)} problems: run `citewell verify`")
    return f"{result.documents} document versions and {result.chunks} passages, all consistent"


def _look_at_records(app: App) -> SystemCheck | str:
    from citewell.wiring import has_sealed

    if not has_sealed(app.library):
        return "no answers yet"
    proof = app.ask_service.audit.verify_chain(app.tenant)
    if proof.problems:
        return SystemCheck("audit log", "failed", "not intact: run `citewell audit verify`")
    return f"intact, {proof.records} on record"


def _look_at_pair_reader(app: App) -> SystemCheck | str:
    return _proved("pair reader", app.pair_reader, "off: sentences are checked by rules, words and similarity")


def _look_at_answer_reader(app: App) -> SystemCheck | str:
    return _proved("answer reader", app.answer_reader, "off: answers are chosen by words and similarity only")


def _proved(part: str, reader: PairReader | AnswerReader | None, off: str) -> SystemCheck | str:
    """Whether a trained reader gives its reference."""
    if reader is None:
        return off
    if not reader.is_true():
        return SystemCheck(part, "failed", "fails its self-test: reinstall Citewell")
    return f"{reader.name}, self-test passed"


def _look_at_entailment(app: App) -> SystemCheck | str:
    model = app.entailment
    if model is None:
        return "none set"
    model.score("Give iron.", "Iron is given.")
    return model.name


def _look_at_embedder(app: App) -> SystemCheck | str:
    from citewell.adapters.embedding.engine import PUBLISHED, TRAINED, is_reference
    from citewell.adapters.embedding.quantisation_ranges import REFERENCE_TEXT

    vector = app.embedder.embed([REFERENCE_TEXT])[0]
    known = app.library.embedder()
    if not is_reference(app.built_in.embed([REFERENCE_TEXT])[0], PUBLISHED):
        return SystemCheck("embedder", "failed", WRONG_VECTORS)
    if known is not None and known != app.embedder.fingerprint:
        return SystemCheck(
            "embedder", "failed", f"the library was indexed with {known}: run `citewell evidence reingest`"
        )
    if app.settings.embedder == "minilm":
        if not is_reference(vector, TRAINED):
            return SystemCheck("embedder", "failed", WRONG_VECTORS)
        return f"{app.embedder.fingerprint}, self-test passed"
    is_fitted = app.calibration_of(app.embedder.fingerprint).is_fitted
    fitted = "" if is_fitted else "; relevance is not calibrated: run `citewell calibrate`"
    return f"{app.embedder.fingerprint} at {app.settings.embedder_url}: texts are sent there{fitted}"


def _look_at_index(app: App) -> SystemCheck | str:
    results = app.search("dose")
    size = app.index.size()
    return f"{size.rows} passages in {size.bytes / 1_048_576:.1f} MiB; a search took {results.took_ms:.0f} ms"


def _look_at_vocabulary(app: App) -> SystemCheck | str:
    added = app.search("hemoptysis").expansions
    if not added:
        return SystemCheck("vocabulary", "failed", "synonyms are not loaded: reinstall Citewell")
    return f"loaded: a test word has {len(added)} synonyms"


def _look_at_queue(app: App) -> SystemCheck:

    return SystemCheck("queue", *look_at_queue(app))


def _look_at_originals(app: App) -> SystemCheck:

    return SystemCheck("originals", *look_at_originals(app))


def _extras() -> Iterator[SystemCheck]:
    """Optional packages: missing is fine, and said with what they would add."""
    for package, extra, use in (
        ("rapidocr", "ocr", "reads scanned pages"),
        ("openvino", "openvino", "faster indexing on CPUs that support it"),
        ("ollama", "ollama", "an Ollama server as the embedding model"),
        ("psycopg", "postgres", "a library in PostgreSQL"),
        ("celery", "workers", "workers on several computers, coordinated through Redis"),
        ("boto3", "s3", "original files in S3-compatible storage"),
        ("qdrant_client", "qdrant", "a search copy on a Qdrant server"),
        ("authlib", "oidc", "single sign-on through OpenID Connect"),
        ("rispy", "literature", "references from RIS and BibTeX files"),
        ("mcp", "mcp", "assistants that use Citewell as a tool (`citewell mcp`, and /mcp beside the API)"),
    ):
        there = importlib.util.find_spec(package) is not None
        told = use if there else f"not installed (pip install 'citewell[{extra}]'): {use}"
        yield SystemCheck(f"extra {extra}", "ok" if there else "absent", told)


def _egress(chosen: Settings) -> Iterator[SystemCheck]:
    """Run the sample library through everything with the network watched and, where the kernel lets us, cut off."""
    if chosen.embedder != "minilm":
        yield SystemCheck(
            "egress", "failed", f"texts are sent to the embedding server at {chosen.embedder_url}, as configured"
        )
        return
    import json as jsons
    import subprocess

    command = [sys.executable, "-m", "citewell.cli.egress"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path.cwd())
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no output"]
        yield SystemCheck("egress", "failed", f"the trial run failed: {last[0]}")
        return
    report = jsons.loads(done.stdout)
    cut = (
        "with the network blocked by the kernel"
        if report["cut_off"]
        else "with the network watched but not blocked (no permission)"
    )
    detail = f"{report['documents']} documents added and {report['searches']} searches made {cut}"
    if report["attempts"]:
        yield SystemCheck("egress", "failed", f"{detail}; tried to reach {', '.join(report['attempts'])}")
    else:
        yield SystemCheck("egress", "ok", f"{detail}; no connections attempted")
