"""The socket and the token."""

from __future__ import annotations

import socket
import stat
from pathlib import Path

import pytest

from citewell.api.serve import bind, token_for
from citewell.config import Settings
from citewell.errors import InputError


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
    with pytest.raises(InputError, match="cannot be bound"):
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
