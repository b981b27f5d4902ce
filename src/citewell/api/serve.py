"""Runs the site on this machine: a socket bound first, no access log, one token."""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import sys
from pathlib import Path

import uvicorn

from citewell.api.addresses import is_loopback
from citewell.api.app import create_app
from citewell.api.connections import ACCEPTED_AT_ONCE, ConnectionLimits, bounded_protocol, own_limit
from citewell.api.log_lines import write_log
from citewell.app import App
from citewell.config import Settings
from citewell.errors import InputError, LibraryReadOnly

TOKEN_FILE = "web-token"  # noqa: S105 -- the name of a file
TOKEN_BYTES = 32
SWITCH_S = 0.001
"""After so long a thread that computes lets another one go on, so that short requests are not held up by long ones."""
KEEP_ALIVE_S = 30
"""How long an idle connection is kept: well over the 5 s of usual clients, so that none sends into one that closes."""
NO_ADMINISTRATOR = (
    "This server would be open to other people ({why}), but no one is set to receive questions that have no owner. Set "
    "CITEWELL_ADMIN_EMAIL to an administrator's email address, or add one with `citewell users add EMAIL --role admin`."
)
NOT_A_USER = (
    "CITEWELL_ADMIN_EMAIL is {email}, but no active user has that address, so nobody is told of questions without an "
    "owner. Add them with `citewell users add {email} --role admin`."
)


def refuse_unready(app: App, host: str) -> None:
    """Refuse to serve others before it is said whose library this is, and who gets questions that have no owner."""
    administrators = app.people.administrators(tenant=app.tenant)
    is_named = app.settings.admin_email is not None or bool(administrators)
    if not is_named and (why := _open_by(app.settings, host)):
        raise InputError(NO_ADMINISTRATOR.format(why=why))


def missing_administrator(app: App) -> str | None:
    """What to say where the administrator whom the settings name is no user here."""
    email = app.settings.admin_email
    known = {user.email.casefold() for user in app.people.all(tenant=app.tenant) if user.is_active}
    return None if email is None or email.casefold() in known else NOT_A_USER.format(email=email)


def _open_by(chosen: Settings, host: str) -> str:
    """What lets others than the person at this machine come; nothing where they alone can."""
    if not is_loopback(host):
        return f"it listens on {host}"
    if chosen.hosts:
        return "CITEWELL_HOSTS names another address"
    return "" if chosen.oidc_issuer is None else "CITEWELL_OIDC_ISSUER lets people sign in"


def token_for(settings: Settings) -> str:
    """The token in the settings, or one that is made once and kept in the home, readable by its owner alone."""
    if settings.token is not None and settings.token.get_secret_value():
        return settings.token.get_secret_value()
    path = settings.home / TOKEN_FILE
    try:
        return _kept(path) or _made(path)
    except OSError as error:
        raise LibraryReadOnly(
            f"The web token could not be saved in {settings.home} ({error.strerror}). Set CITEWELL_TOKEN, or choose "
            "another folder with --home."
        ) from error


def _kept(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except FileNotFoundError:
        return None


def _made(path: Path) -> str:
    token = secrets.token_urlsafe(TOKEN_BYTES)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(token)
    return token


def bind(host: str, port: int) -> socket.socket:
    """A listening socket, so that port 0 has a number and a taken port is told before anything starts."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Named as TCP, or asyncio does not turn off Nagle's waiting, which costs every answer 40 ms.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InputError(
                f"Port {port} is in use, perhaps by another `citewell serve`. Stop that one, or choose another port "
                "with --port (0 picks a free one)."
            ) from error
        raise InputError(f"Could not listen on {host}:{port} ({error.strerror}). Check --host and --port.") from error
    return bound


def server(app: App, bound: socket.socket, *, token: str) -> uvicorn.Server:
    """A server for the site, ready to run on the socket."""
    site = create_app(app, token=token, host=bound.getsockname()[0])
    # The access log would hold the words of every question, whatever handlers a logging setup gives it.
    logging.getLogger("uvicorn.access").disabled = True
    config = uvicorn.Config(
        site,
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        timeout_graceful_shutdown=5,
        timeout_keep_alive=KEEP_ALIVE_S,
        backlog=ACCEPTED_AT_ONCE,
        http=bounded_protocol(ConnectionLimits(app.settings.max_connections or own_limit(), app.settings.max_header_s)),
    )
    return uvicorn.Server(config)


def run(app: App, bound: socket.socket, *, token: str) -> None:
    """Serve until it is stopped."""
    sys.setswitchinterval(SWITCH_S)
    write_log(app.settings.log_file, max_mb=app.settings.log_mb)
    with bound:
        server(app, bound, token=token).run(sockets=[bound])
