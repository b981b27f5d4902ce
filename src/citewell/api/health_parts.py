"""What health asks of each part; an error says what to do, a returned text says how the part is."""

from __future__ import annotations

from contextlib import closing

from citewell.adapters.blobs import try_blobs
from citewell.adapters.index.qdrant import QdrantIndex
from citewell.adapters.llm import split_spec
from citewell.adapters.llm.model_list import server_of
from citewell.adapters.queue.celery import AWAY, CeleryQueue
from citewell.adapters.store.engine import refuse_full, refuse_newer
from citewell.answer.retrieve import refuse_misfit
from citewell.api.site import Site
from citewell.errors import Unavailable

NO_WORKER = "No workers are running. Start one with `citewell worker`."


def ask_store(site: Site) -> None:
    """Read a row, and look whether answers can be kept and no newer version has brought the tables up to date."""
    library = site.app.library
    library.stamp()
    refuse_newer(library.engine, library.path)
    if site.app.settings.database_url is None:  # PostgreSQL tells of its own disk when it is written to
        refuse_full(library.path)


def ask_embedder(site: Site) -> None:
    """Embed a word, and look whether the library's vectors are of the same embedder and its calibration can be used."""
    app = site.loaded()
    app.embedder.embed(["fever"])
    refuse_misfit(app.library.embedder(), app.embedder.fingerprint)
    app.calibration_of(app.embedder.fingerprint)


def ask_model(site: Site) -> None:
    """Ask the model's server whether it has the model; verbatim answers need none."""
    settings = site.app.settings
    if settings.model == "extractive":
        return
    vendor, name = split_spec(settings.model)
    with closing(server_of(settings, vendor)) as server:
        server.check(name)


def ask_entailment(site: Site) -> str | None:
    """Let the entailment model read two texts; which one it is."""
    model = site.loaded().entailment
    if model is None:
        return None
    model.score("Give iron.", "Iron is given.")
    return model.name


def ask_replica(site: Site) -> str | None:
    """How far the replica is behind."""
    index = site.loaded().index
    if not isinstance(index, QdrantIndex):
        return None
    lag = index.lag()
    return "like the library" if lag.is_current else f"{lag.documents} document versions behind"


def ask_broker(site: Site) -> str:
    """Whether Redis answers, and who works."""
    queue = site.app.queue
    if isinstance(queue, CeleryQueue) and not queue.answers():
        raise Unavailable(AWAY)
    workers = site.app.library.status(site.app.scope_of_owner()).workers
    alive = sum(not worker.is_silent for worker in workers)
    return f"{alive} worker{'' if alive == 1 else 's'} running" if alive else NO_WORKER


def ask_originals(site: Site) -> None:
    """Whether a file can be kept, read back and removed."""
    if site.app.library.blobs is not None:
        try_blobs(site.app.library.blobs)
