"""The socket and the token."""

from __future__ import annotations

import socket
import stat
from pathlib import Path
from typing import Any

import pytest

from citewell.api.serve import bind, missing_administrator, refuse_unready, server, token_for
from citewell.app import build
from citewell.config import Settings
from citewell.errors import InputError
from citewell.types import Role


def test_port_zero_takes_a_free_port() -> None:
    with bind("127.0.0.1", 0) as bound:
        assert bound.getsockname()[1] > 0


def test_answers_do_not_wait_for_more_to_send() -> None:
    with bind("127.0.0.1", 0) as bound:
        assert bound.proto == socket.IPPROTO_TCP  # what asyncio looks at before it sets TCP_NODELAY


def test_a_port_in_use_is_told_with_what_to_do() -> None:
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        with pytest.raises(InputError, match=f"Port {port} is in use.*--port"):
            bind("127.0.0.1", port)


def test_an_address_of_another_machine_is_told() -> None:
    with pytest.raises(InputError, match="Could not listen"):
        bind("192.0.2.1", 0)


def test_a_token_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    token = token_for(settings)
    assert len(token) >= 40
    assert token_for(settings) == token
    assert [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()] == [0o600]


def test_a_token_in_the_settings_is_used_as_it_is(tmp_path: Path) -> None:
    assert token_for(Settings(home=tmp_path, token="mine")) == "mine"
    assert list(tmp_path.iterdir()) == []


def test_an_idle_connection_outlives_a_clients_own_patience(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path)) as app, bind("127.0.0.1", 0) as bound:
        assert server(app, bound, token="mine").config.timeout_keep_alive == 30


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_one_person_at_their_own_machine_sets_nothing(tmp_path: Path, host: str) -> None:
    with build(Settings(home=tmp_path)) as app:
        app.people.add(tenant="local", email="ann@clinic.example", name="", role=Role.MEMBER, tags=[])
        refuse_unready(app, host)


@pytest.mark.parametrize(
    ("host", "chosen", "why"),
    [
        ("0.0.0.0", {}, "listens on 0.0.0.0"),
        ("192.0.2.7", {}, "listens on 192.0.2.7"),
        ("127.0.0.1", {"hosts": ("clinic.example",)}, "CITEWELL_HOSTS"),
        ("127.0.0.1", {"oidc_issuer": "https://sign-in.example"}, "CITEWELL_OIDC_ISSUER"),
    ],
)
def test_others_are_served_only_where_an_administrator_is_named(
    tmp_path: Path, host: str, chosen: dict[str, Any], why: str
) -> None:
    with build(Settings(home=tmp_path, **chosen)) as app:
        app.people.add(tenant="local", email="bob@clinic.example", name="", role=Role.MEMBER, tags=[])
        with pytest.raises(InputError, match="Set CITEWELL_ADMIN_EMAIL to") as refused:
            refuse_unready(app, host)
        assert why in str(refused.value)
    with build(Settings(home=tmp_path, admin_email="it@clinic.example", **chosen)) as app:
        refuse_unready(app, host)
    with build(Settings(home=tmp_path, **chosen)) as app:
        app.people.add(tenant="local", email="ann@clinic.example", name="", role=Role.ADMIN, tags=[])
        refuse_unready(app, host)


def test_accounts_alone_do_not_close_the_server_at_this_machine(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path)) as app:
        for name in ("ann", "bob"):
            app.people.add(tenant="local", email=f"{name}@clinic.example", name="", role=Role.MEMBER, tags=[])
        refuse_unready(app, "127.0.0.1")


def test_an_administrator_in_the_settings_who_is_no_user_is_named(tmp_path: Path) -> None:
    with build(Settings(home=tmp_path, admin_email="It@clinic.example")) as app:
        assert "no active user has that address" in str(missing_administrator(app))
        user = app.people.add(tenant="local", email="it@clinic.example", name="", role=Role.ADMIN, tags=[])
        assert missing_administrator(app) is None
        app.people.change(user.id, tenant="local", is_active=False)
        assert missing_administrator(app) is not None


def test_among_several_organisations_the_servers_own_must_be_named(tmp_path: Path) -> None:
    email = "it@clinic.example"
    with build(Settings(home=tmp_path, admin_email=email)) as app:
        for tenant in ("clinic", "practice"):
            app.people.add(tenant=tenant, email=email, name="", role=Role.ADMIN, tags=[])
        with pytest.raises(InputError, match="Set CITEWELL_TENANT") as caught:
            refuse_unready(app, "127.0.0.1")
        assert "practice" not in str(caught.value)
    with build(Settings(home=tmp_path, admin_email=email, tenant="clinic")) as app:
        refuse_unready(app, "127.0.0.1")
