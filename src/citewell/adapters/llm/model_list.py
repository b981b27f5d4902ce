"""Which language models are allowed, and which of them a server has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from citewell.adapters.llm.model_limits import allow_list, exact
from citewell.adapters.llm.vendors import VENDORS, has_client, make_server
from citewell.config import Settings
from citewell.errors import LLMConnectionError, MissingExtra
from citewell.ports import ModelInfo

if TYPE_CHECKING:
    from citewell.adapters.llm.remote import RemoteServer


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model that is allowed, or there, or both."""

    name: str
    is_allowed: bool
    is_present: bool
    is_chosen: bool
    context_window: int | None
    """Tokens that may be used: what is allowed, or less if the model was made for less."""
    max_reply_tokens: int | None
    digest: str | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class WriterKind:
    """A way in which answers can be written, and the extra that it needs."""

    name: str
    is_installed: bool
    is_chosen: bool
    extra: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The models of one server, and what kept it from answering."""

    server: str
    problem: str | None
    models: tuple[ModelRow, ...]


def listing(chosen: Settings, vendor: str) -> Listing:
    """Ask a vendor's server for its models; one that cannot be reached, or not asked, leaves the allowed ones."""
    try:
        with closing(server_of(chosen, vendor)) as asked:
            present = asked.models()
    except (LLMConnectionError, MissingExtra) as error:
        return unanswered(chosen, vendor, str(error))
    return Listing(vendor, None, tuple(rows(chosen, vendor, present)))


def unanswered(chosen: Settings, vendor: str, problem: str) -> Listing:
    """What is known of the models of a server that does not answer: those that are allowed."""
    return Listing(vendor, problem, tuple(rows(chosen, vendor, [])))


def kinds(chosen: Settings) -> Iterator[WriterKind]:
    """All that answers can be written with: what needs no model first, then the vendors."""
    in_use = chosen.model.partition(":")[0]
    yield WriterKind("extractive", is_installed=True, is_chosen=in_use == "extractive", extra=None)
    for vendor in VENDORS:
        yield WriterKind(vendor, is_installed=has_client(vendor), is_chosen=in_use == vendor, extra=vendor)


def vendor_of(chosen: Settings) -> str:
    """The vendor in the settings; Ollama where no model is set."""
    vendor = chosen.model.partition(":")[0]
    return vendor if vendor in VENDORS else "ollama"


def server_of(chosen: Settings, vendor: str) -> RemoteServer:
    """The vendor's server; the address and key of one vendor are never used with another."""
    if vendor != vendor_of(chosen):
        return make_server(vendor)
    key = chosen.model_key.get_secret_value() if chosen.model_key else None
    return make_server(vendor, url=chosen.model_url, key=key)


def rows(chosen: Settings, vendor: str, present: list[ModelInfo]) -> list[ModelRow]:
    """Allowed models first, then what else is there."""
    limits = {exact(name): (name, model_limits) for name, model_limits in allow_list(chosen.allowed_models).items()}
    there = {exact(info.name): info for info in present}
    in_use = chosen.model.partition(":")
    found_rows = []
    for key in [*limits, *(key for key in there if key not in limits)]:
        name, allowance = limits.get(key, (there[key].name if key in there else key, None))
        model_info = there.get(key)
        windows = [allowance and allowance.context_window, model_info and model_info.context_window]
        found_rows.append(
            ModelRow(
                name=model_info.name if model_info else name,
                is_allowed=allowance is not None,
                is_present=model_info is not None,
                is_chosen=(vendor, key) == (in_use[0], exact(in_use[2])),
                context_window=min((window for window in windows if window), default=None),
                max_reply_tokens=allowance.max_reply_tokens if allowance else None,
                digest=model_info.digest if model_info else None,
                size_bytes=model_info.size_bytes if model_info else None,
            )
        )
    return found_rows
