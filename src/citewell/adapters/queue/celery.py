"""The queue of several machines: Celery carries nudges through Redis; losing them, or all of Redis, loses no work."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from typing import Any

from citewell.errors import InputError, MissingExtra
from citewell.ingest.worker import reason

log = logging.getLogger(__name__)

TASK = "citewell.work"
QUEUE = "citewell"
LOST_S = 10.0
"""So long a broker that did not answer is left alone."""
CONNECT_S = 2.0
AWAY = (
    "Redis is not responding. Start it, or correct CITEWELL_BROKER_URL. Nothing is lost: queued documents are still "
    "processed, because workers also check the library."
)
SCHEMES = ("redis", "rediss", "redis+socket", "sentinel")
CONSUMER = "celery.worker.consumer.consumer"
"""Who tells of a broker that is away, with a stack and for every try."""
SAID_AGAIN_S = 60.0
AT_ONCE = 20
"""Documents that one nudge leads to at most; then the next process may have a turn."""


def refuse_address(url: str) -> None:
    """Refuse what is not the address of a Redis; Celery would look for some other broker under it, for ever."""
    if url.partition("://")[0] not in SCHEMES or "://" not in url:
        raise InputError("CITEWELL_BROKER_URL is not a Redis address. Write it as redis://host:6379/0.")


def make_celery(url: str) -> Any:
    """Celery without anything that would have to be kept: no results, no acknowledgements to wait for."""
    refuse_address(url)
    try:
        from celery import Celery
    except ImportError as error:
        raise MissingExtra(
            "Workers on several computers need packages that are not installed. Install them with: pip install "
            "'citewell[workers]'"
        ) from error
    app = Celery("citewell", broker=url)
    app.conf.update(
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_store_errors_even_if_ignored=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "socket_connect_timeout": CONNECT_S,
            "socket_timeout": CONNECT_S,
            "socket_keepalive": True,
        },
        worker_prefetch_multiplier=1,
        worker_hijack_root_logger=False,
        worker_send_task_events=False,
        worker_cancel_long_running_tasks_on_connection_loss=True,  # of those that acknowledge late, and ours do not
        task_publish_retry=False,
    )
    return app


class CeleryQueue:
    """Sends nudges; a broker that does not answer is no reason to fail, since workers look at the table too."""

    def __init__(self, url: str) -> None:
        self._celery = make_celery(url)
        self._lost_at: float | None = None

    def nudge(self) -> bool:
        if self._lost_at is not None and time.monotonic() - self._lost_at < LOST_S:
            return False
        try:
            self._celery.send_task(TASK, queue=QUEUE, retry=False, ignore_result=True)
        except Exception as error:  # kombu and redis raise a dozen kinds
            log.warning("%s (%s)", AWAY, type(error).__name__)
            self._lost_at = time.monotonic()
            return False
        self._lost_at = None
        return True

    def length(self) -> int | None:
        """How many nudges wait, or None while the broker does not answer."""
        try:
            return self._length()
        except Exception as error:
            log.warning("%s (%s)", AWAY, type(error).__name__)
            return None

    def answers(self) -> bool:
        """Whether the broker answers, with nothing said in the log: for whoever tells it otherwise."""
        try:
            self._length()
        except Exception:
            return False
        return True

    def _length(self) -> int:
        with self._celery.connection_for_read(transport_options={"max_retries": 0}) as connection:
            connection.ensure_connection(max_retries=1, timeout=CONNECT_S)
            channel = connection.default_channel
            return int(channel.queue_declare(queue=QUEUE, durable=True).message_count)


class BrokerMessages(logging.Filter):
    """One sentence for a broker that is away, and again after a while if it stays away."""

    def __init__(self) -> None:
        super().__init__()
        self._said_at: float | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        is_new = self._said_at is None or time.monotonic() - self._said_at > SAID_AGAIN_S
        if is_new:
            self._said_at = time.monotonic()
        record.msg, record.args, record.exc_info = AWAY, (), None
        return is_new


def run_pool(url: str, *, processes: int, make_work: Callable[[], Callable[[], bool]]) -> None:
    """Serve nudges with so many processes until told to stop; each makes its own `work`, which reads one document."""
    app = make_celery(url)
    ready: list[Callable[[], bool]] = []

    def work() -> None:
        try:
            if not ready:
                ready.append(make_work())
            for _ in range(AT_ONCE):
                if not ready[0]():
                    return
            app.send_task(TASK, queue=QUEUE, retry=False, ignore_result=True)
        except Exception as error:  # the next nudge tries again; the sweep sees to it that there is one
            log.warning("queue cannot be worked on: %s", reason(error))

    app.task(name=TASK)(work)
    logging.getLogger(CONSUMER).addFilter(BrokerMessages())
    warnings.filterwarnings("ignore", message="You're running the worker with superuser", category=UserWarning)
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["--quiet", "worker", "--loglevel=WARNING", f"--concurrency={processes}", "-Q", QUEUE, *quiet])
