"""Language models behind servers: one file per vendor, made from one line of the settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from citewell.adapters.llm.model_limits import allowed as limits_of
from citewell.errors import InputError, ModelError

if TYPE_CHECKING:
    from citewell.adapters.llm.remote import RemoteModel, RemoteServer
    from citewell.adapters.remote import Sleep

VENDORS = {
    "ollama": ("OllamaModel", "OllamaServer"),
    "openai": ("OpenAIModel", "OpenAIServer"),
    "anthropic": ("AnthropicModel", "AnthropicServer"),
    "google": ("GoogleModel", "GoogleServer"),
}
"""The classes in the file of each vendor; a file is read only when its vendor is asked for."""
CLIENTS = {"google": "google.genai"}
"""The package of a vendor's client, where it is not called like the vendor."""


def has_client(vendor: str) -> bool:
    """Whether the client of a vendor is installed; it is not read."""
    try:
        return find_spec(CLIENTS.get(vendor, vendor)) is not None
    except (ModuleNotFoundError, ValueError):  # no package above it, or one that is said not to be there
        return False


def make_model(
    spec: str,
    *,
    url: str | None = None,
    key: str | None = None,
    timeout_s: float | None = None,
    allowed: Sequence[str] = (),
    sleep: Sleep = time.sleep,
) -> RemoteModel:
    """The model that `vendor:name` says, if it is allowed; nothing is sent yet."""
    from citewell.adapters.llm.remote import patience_for

    vendor, name = split_spec(spec)
    limits = limits_of(name, allowed)
    _check_address(vendor, url, key)
    module = import_module(f"citewell.adapters.llm.{vendor}")
    made: RemoteModel = getattr(module, VENDORS[vendor][0])(
        name, limits=limits, url=url, key=key, patience=patience_for(name, timeout_s=timeout_s), sleep=sleep
    )
    return made


def make_server(
    vendor: str, *, url: str | None = None, key: str | None = None, timeout_s: float = 30.0
) -> RemoteServer:
    """What can list, check and fetch the models of a vendor's server."""
    if vendor not in VENDORS:
        raise InputError(f"Unknown model server {vendor}. Choose one of {', '.join(VENDORS)}.")
    _check_address(vendor, url, key)
    module = import_module(f"citewell.adapters.llm.{vendor}")
    made: RemoteServer = getattr(module, VENDORS[vendor][1])(url=url, key=key, timeout_s=timeout_s)
    return made


def split_spec(spec: str) -> tuple[str, str]:
    """Vendor and name of a model, as the settings have them in one string.

    >>> split_spec("ollama:qwen3:8b")
    ('ollama', 'qwen3:8b')
    """
    vendor, _, name = spec.partition(":")
    if vendor not in VENDORS or not name.strip():
        forms = ", ".join(f"{known}:NAME" for known in VENDORS)
        raise InputError(f"CITEWELL_MODEL is not valid. Write extractive, or one of {forms}.")
    return vendor, name.strip()


def _check_address(vendor: str, url: str | None, key: str | None) -> None:
    if url is not None and not (urlsplit(url).scheme in ("http", "https") and urlsplit(url).hostname):
        raise InputError("CITEWELL_MODEL_URL is not valid. Write a full address, such as http://127.0.0.1:11434.")
    if url is None and key is None and vendor != "ollama":
        raise ModelError(f"Models from {vendor} need a key. Set CITEWELL_MODEL_KEY, or CITEWELL_MODEL_URL.")
