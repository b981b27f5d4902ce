"""Which models may word the answers of a record, and whether its words leave this machine for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.errors import InputError

if TYPE_CHECKING:
    from citewell.config import Settings

EXTRACTIVE = "extractive"
CLOUD = "cloud"
"""An Ollama server passes prompts on for models whose tag ends so."""


def models_of(settings: Settings) -> tuple[str, ...]:
    """What a person may choose from: no model, the one that is configured, and others of its server that are allowed.

    >>> from citewell.config import Settings
    >>> models_of(Settings(model="ollama:medgemma:4b", allowed_models=("qwen3:8b=32768/4096",)))
    ('extractive', 'ollama:medgemma:4b', 'ollama:qwen3:8b')
    """
    if settings.model == EXTRACTIVE:
        return (EXTRACTIVE,)
    vendor = settings.model.partition(":")[0]
    others = (f"{vendor}:{one.partition('=')[0]}" for one in settings.allowed_models)
    return tuple(dict.fromkeys((EXTRACTIVE, settings.model, *others)))


def with_model(settings: Settings, chosen: str | None) -> Settings:
    """The settings with the model that a record was set to; one that is not configured any more is not used."""
    is_there = chosen is not None and chosen in models_of(settings)
    return settings.model_copy(update={"model": chosen}) if is_there else settings


def check_model(settings: Settings, chosen: str) -> None:
    """Refuse a model that is not configured."""
    if chosen not in models_of(settings):
        raise InputError(f"This model is not configured. Choose one of {', '.join(models_of(settings))}.")


def elsewhere(settings: Settings) -> str:
    """Who outside this machine gets words of the record; empty where nobody does.

    >>> from citewell.config import Settings
    >>> elsewhere(Settings()), elsewhere(Settings(model="ollama:medgemma:4b")), elsewhere(Settings(model="google:g"))
    ('', '', 'google:g')
    """
    found = [] if _stays(settings.model, settings.model_url) else [settings.model]
    named = f"{settings.embedder}:{settings.embedder_model}"
    found += [] if _stays(named, settings.embedder_url) else [named]
    return " and ".join(found)


def _stays(model: str, url: str | None) -> bool:
    """Whether what is sent to a model stays on this machine."""
    vendor, _, name = model.partition(":")
    if vendor in (EXTRACTIVE, "minilm"):
        return True
    if vendor == "ollama" and name.endswith(CLOUD):
        return False
    if url is None:
        return vendor == "ollama"  # it runs beside us unless an address says otherwise
    from citewell.adapters.llm.remote import is_local

    return is_local(url)
