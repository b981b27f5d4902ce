"""Where records go besides the library: lines of JSON in a file, or messages of RFC 5424 to a server."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from citewell.errors import InputError

log = logging.getLogger(__name__)

PRIORITY = 13 * 8 + 6
"""Facility “log audit”, severity “informational”."""
TIMEOUT_S = 2.0
WRONG_ADDRESS = (
    "CITEWELL_TRAIL_TO must be a list of file:/folder/name, udp://host:port or tcp://host:port. Correct it and start "
    "again."
)


class Sink(Protocol):
    """Takes records; what it cannot take now raises an OSError."""

    def send(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Take records over, in order."""
        ...

    def close(self) -> None:
        """Let go of what is open."""
        ...


def syslog_line(record: Mapping[str, Any], *, host: str, pid: int) -> bytes:
    """A record as a message of RFC 5424, its JSON behind the header.

    >>> syslog_line({"log": "trail", "at": "2026-01-02T03:04:05Z"}, host="ward-1", pid=42).decode()
    '<110>1 2026-01-02T03:04:05Z ward-1 citewell 42 trail - {"log": "trail", "at": "2026-01-02T03:04:05Z"}'
    """
    head = f"<{PRIORITY}>1 {record['at']} {host} citewell {pid} {record['log']} - "
    return (head + json.dumps(record)).encode()


class FileSink:
    """Lines of JSON at the end of a file that its owner alone can read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def send(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Append the lines in one write."""
        lines = "".join(f"{json.dumps(record)}\n" for record in records).encode()
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab", buffering=0) as file:
            file.write(lines)

    def close(self) -> None:
        """Nothing is open."""


class SyslogSink:
    """Messages to a server: each a packet over UDP, each with its length before it over TCP (RFC 6587)."""

    def __init__(self, scheme: str, host: str, port: int) -> None:
        self._is_stream, self._address = scheme == "tcp", (host, port)
        self._lock = threading.Lock()
        self._stream: socket.socket | None = None

    def send(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Send each; a connection that broke off is made anew once."""
        name, pid = socket.gethostname() or "-", os.getpid()
        lines = [syslog_line(record, host=name, pid=pid) for record in records]
        with self._lock:
            if not self._is_stream:
                family = socket.getaddrinfo(*self._address, type=socket.SOCK_DGRAM)[0][0]
                with socket.socket(family, socket.SOCK_DGRAM) as packet:
                    for line in lines:
                        packet.sendto(line, self._address)
                return
            framed = b"".join(b"%d %b" % (len(line), line) for line in lines)
            try:
                self._connected().sendall(framed)
            except OSError:
                if self._stream is not None:
                    self._stream.close()
                    self._stream = None
                self._connected().sendall(framed)

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            if self._stream is not None:
                self._stream.close()
                self._stream = None

    def _connected(self) -> socket.socket:
        if self._stream is None:
            self._stream = socket.create_connection(self._address, timeout=TIMEOUT_S)
        return self._stream


class Outside:
    """All that records are told to; one that is away is said once in the log, and the library goes on."""

    def __init__(self, sinks: Mapping[str, Sink]) -> None:
        self._sinks = dict(sinks)
        self._away: set[str] = set()

    def send(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Tell them all."""
        told = list(records)
        for name, sink in self._sinks.items():
            try:
                sink.send(told)
            except OSError as error:
                if name not in self._away:
                    log.warning("%s takes no records of the trail: %s", name, type(error).__name__)
                self._away.add(name)
            else:
                self._away.discard(name)

    def close(self) -> None:
        """Let go of all connections."""
        for sink in self._sinks.values():
            sink.close()

    @property
    def away(self) -> tuple[str, ...]:
        """Those that took nothing the last time."""
        return tuple(sorted(self._away))

    def anchor(self, name: str, tenant: str, count: int, digest: str) -> None:
        """Tell the end of a log, by which a copy that was set back is known later."""
        if self._sinks:
            at = datetime.now(UTC).isoformat(timespec="milliseconds")
            self.send([{"log": "head", "at": at, "of": name, "tenant": tenant, "count": count, "hash": digest}])


def make_outside(addresses: Iterable[str]) -> Outside:
    """The sinks that the settings name.

    >>> make_outside(["udp://127.0.0.1:514", "file:/tmp/trail"]).away
    ()
    """
    return Outside({address.partition(":")[0] + f" {at}": _sink(address) for at, address in enumerate(addresses, 1)})


def _sink(address: str) -> Sink:
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        raise InputError(WRONG_ADDRESS) from error
    if parts.scheme == "file" and parts.path:
        return FileSink(Path(parts.path))
    if parts.scheme in ("udp", "tcp") and parts.hostname and port:
        return SyslogSink(parts.scheme, parts.hostname, port)
    raise InputError(WRONG_ADDRESS)
