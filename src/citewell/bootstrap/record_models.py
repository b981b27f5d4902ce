"""Which models may word the answers of a record, and whether its words leave this machine for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

from citewell.errors import InputError, ModelReply
from citewell.ports import Prompt
from citewell.types import Message

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
        raise InputError(f"This model is not set up. Choose one of {', '.join(models_of(settings))}.")


NO_MODEL = "No language model is in use for this record. Set one up (CITEWELL_MODEL), then choose it under Settings."


@contextmanager
def asked(settings: Settings, rules: str, schema: Mapping[str, object]) -> Iterator[Callable[[str], str]]:
    """Asks the model of the settings for structured replies; one that it cannot give is empty."""
    if settings.model == EXTRACTIVE:
        raise InputError(NO_MODEL)
    from citewell.adapters.llm import make_model

    key = settings.model_key.get_secret_value() if settings.model_key else None
    model = make_model(
        settings.model,
        url=settings.model_url,
        key=key,
        timeout_s=settings.model_timeout_s,
        allowed=settings.allowed_models,
    )

    def ask(text: str) -> str:
        limits = model.limits
        told = (Message("user", text),)
        prompt = Prompt(rules, told, limits.max_reply_tokens, limits.context_window, schema)
        pieces: list[str] = []
        with suppress(ModelReply):  # a reply that is cut or no JSON tells nothing; the next part may
            pieces.extend(model.stream(prompt))
        return "".join(pieces)

    with closing(model):
        yield ask


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
