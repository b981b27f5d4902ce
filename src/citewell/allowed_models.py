"""Which models may write: the one that one question names, and the one that the owner of a record has chosen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.errors import InputError, ModelNotAllowedError, ModelReply, NoModel
from citewell.ports.models import EXTRACTIVE, Prompt
from citewell.types import Message
from citewell.wiring import make_model_writer, make_remote

if TYPE_CHECKING:
    from citewell.adapters.llm.model_presence import Presence
    from citewell.adapters.llm.remote import RemoteServer
    from citewell.answer.service import Assistant, WithOptions
    from citewell.config import Settings
    from citewell.ports import Writer
    from citewell.types import AskOptions

NO_MODEL = (
    "No language model is set up here, so you cannot choose one. Ask without a model, or set one up (CITEWELL_MODEL)."
)
NO_MODEL_FOR_RECORD = (
    "No language model is in use for this record. Set one up (CITEWELL_MODEL), then choose it under Settings."
)
OTHER_VENDOR = "You can choose only models from the configured server ({vendor})."
CLOUD = "cloud"
"""An Ollama server passes prompts on for models whose tag ends so."""


# --------------------------------------------------------------------------------------------- chosen for one question


class ModelChoice:
    """Gives a question the model and the number of passages that it asks for; each writer is made when first named."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._writers: dict[str, Writer] = {}
        self._presence: Presence | None = None

    def __call__(self, options: AskOptions) -> WithOptions:
        """What makes of an assistant the one that was asked for; what may not be asked for is refused now.

        Nothing is asked of a server before the result is used.
        """
        name = self._named(options.model)

        def with_options(assistant: Assistant) -> Assistant:
            from citewell.answer.assistant import LibraryAssistant

            assert isinstance(assistant, LibraryAssistant)
            chunks = options.max_context_chunks or assistant.limits.chunks
            writer = assistant.writer if name is None else self._writer(name)
            return replace(assistant, writer=writer, limits=replace(assistant.limits, chunks=chunks))

        return with_options

    def names(self) -> tuple[str, ...]:
        """The models that may be named, the configured one first; none where no model is set up."""
        from citewell.adapters.llm.model_limits import allow_list, exact
        from citewell.adapters.llm.vendors import split_spec

        settings = self._settings
        if settings.model == EXTRACTIVE:
            return ()
        vendor, configured = split_spec(settings.model)
        built_in = () if vendor == "ollama" else allow_list()  # names of Ollama's, which no other server has
        given = [allowed.rpartition("=")[0].strip() for allowed in settings.allowed_models]
        known = [name for name in allow_list(settings.allowed_models) if name in given or name not in built_in]
        return (configured, *(name for name in known if exact(name) != exact(configured)))

    def close(self) -> None:
        """Let go of the connections; the next question makes new ones."""
        with self._lock:
            writers, self._writers, self._presence = self._writers, {}, None
        for writer in writers.values():
            writer.close()

    def _named(self, model: str | None) -> str | None:
        """The name at the configured server; None where that is who writes anyway."""
        settings = self._settings
        if model is None or model == settings.model:
            return None
        if settings.model == EXTRACTIVE:
            raise NoModel(NO_MODEL)
        from citewell.adapters.llm.model_limits import allowed, exact
        from citewell.adapters.llm.vendors import VENDORS, split_spec

        vendor, configured = split_spec(settings.model)
        before, _, after = model.strip().partition(":")
        if before in VENDORS and before != vendor:
            raise ModelNotAllowedError(OTHER_VENDOR.format(vendor=vendor))
        name = after if before == vendor else model.strip()
        allowed(name, settings.allowed_models)
        return None if exact(name) == exact(configured) else name

    def _writer(self, name: str) -> Writer:
        """Who writes with a model, once its server has said that it is there."""
        from citewell.adapters.llm.model_presence import Presence
        from citewell.adapters.llm.vendors import split_spec

        vendor, _ = split_spec(self._settings.model)
        with self._lock:
            if self._presence is None:
                self._presence = Presence(self._connect)
            presence = self._presence
        presence.check(name)
        with self._lock:
            if name not in self._writers:
                self._writers[name] = make_model_writer(self._settings.model_copy(update={"model": f"{vendor}:{name}"}))
            return self._writers[name]

    def _connect(self) -> RemoteServer:
        from citewell.adapters.llm.shared_request import LIMIT_S
        from citewell.adapters.llm.vendors import make_server, split_spec

        settings = self._settings
        key = settings.model_key.get_secret_value() if settings.model_key else None
        return make_server(split_spec(settings.model)[0], url=settings.model_url, key=key, timeout_s=LIMIT_S)


# ------------------------------------------------------------------------------------------------- chosen for a record


def models_of(settings: Settings) -> tuple[str, ...]:
    """What a person may choose from: no model, the one that is configured, and others of its server that are allowed.

    >>> from citewell.config import Settings
    >>> models_of(Settings(model="ollama:medgemma:4b", allowed_models=("qwen3:8b=32768/4096",)))
    ('extractive', 'ollama:medgemma:4b', 'ollama:qwen3:8b')
    """
    if settings.model == EXTRACTIVE:
        return (EXTRACTIVE,)
    vendor = settings.model.partition(":")[0]
    others = (f"{vendor}:{allowed.partition('=')[0]}" for allowed in settings.allowed_models)
    return tuple(dict.fromkeys((EXTRACTIVE, settings.model, *others)))


def with_model(settings: Settings, chosen: str | None) -> Settings:
    """The settings with the model that a record was set to; one that is not configured any more is not used."""
    is_there = chosen is not None and chosen in models_of(settings)
    return settings.model_copy(update={"model": chosen}) if is_there else settings


def check_model(settings: Settings, chosen: str) -> None:
    """Refuse a model that is not configured."""
    if chosen not in models_of(settings):
        raise InputError(f"This model is not set up. Choose one of {', '.join(models_of(settings))}.")


@contextmanager
def structured_replies(settings: Settings, rules: str, schema: Mapping[str, object]) -> Iterator[Callable[[str], str]]:
    """Asks the model of the settings for replies that follow a schema; one that it cannot give is empty."""
    if settings.model == EXTRACTIVE:
        raise InputError(NO_MODEL_FOR_RECORD)
    model = make_remote(settings)

    def ask(text: str) -> str:
        limits = model.limits
        messages = (Message("user", text),)
        prompt = Prompt(rules, messages, limits.max_reply_tokens, limits.context_window, schema)
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
    recipients = [] if _stays(settings.model, settings.model_url) else [settings.model]
    embedder = f"{settings.embedder}:{settings.embedder_model}"
    recipients += [] if _stays(embedder, settings.embedder_url) else [embedder]
    return " and ".join(recipients)


def _stays(model: str, url: str | None) -> bool:
    """Whether what is sent to a model stays on this machine."""
    vendor, _, name = model.partition(":")
    if vendor in (EXTRACTIVE, "minilm"):
        return True
    if vendor == "ollama" and name.endswith(CLOUD):
        return False
    if url is None:
        return vendor == "ollama"  # it runs beside us unless an address says otherwise
    from citewell.adapters.remote import is_local

    return is_local(url)
