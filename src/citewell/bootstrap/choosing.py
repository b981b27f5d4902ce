"""Grants what one question asks for: another model of the configured server, another number of passages."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from citewell.answer.service import Assistant, WithOptions
from citewell.bootstrap.parts import make_model_writer
from citewell.bootstrap.record_models import EXTRACTIVE
from citewell.errors import ModelNotAllowedError, NoModel
from citewell.types import AskOptions

if TYPE_CHECKING:
    from citewell.adapters.llm.model_presence import Presence
    from citewell.adapters.llm.remote import RemoteServer
    from citewell.config import Settings
    from citewell.ports import Writer

NO_MODEL = (
    "No language model is set up here, so you cannot choose one. Ask without a model, or set one up (CITEWELL_MODEL)."
)
OTHER_VENDOR = "You can choose only models from the configured server ({vendor})."


class Choosing:
    """The writers of models that questions have named, each made when it is first named."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
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
        from citewell.adapters.llm import split_spec
        from citewell.adapters.llm.model_limits import allow_list, exact

        settings = self._settings()
        if settings.model == EXTRACTIVE:
            return ()
        vendor, configured = split_spec(settings.model)
        built_in = () if vendor == "ollama" else allow_list()  # names of Ollama's, which no other server has
        given = [one.rpartition("=")[0].strip() for one in settings.allowed_models]
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
        settings = self._settings()
        if model is None or model == settings.model:
            return None
        if settings.model == EXTRACTIVE:
            raise NoModel(NO_MODEL)
        from citewell.adapters.llm import VENDORS, split_spec
        from citewell.adapters.llm.model_limits import allowed, exact

        vendor, configured = split_spec(settings.model)
        before, _, after = model.strip().partition(":")
        if before in VENDORS and before != vendor:
            raise ModelNotAllowedError(OTHER_VENDOR.format(vendor=vendor))
        name = after if before == vendor else model.strip()
        allowed(name, settings.allowed_models)
        return None if exact(name) == exact(configured) else name

    def _writer(self, name: str) -> Writer:
        """Who writes with a model, once its server has said that it is there."""
        from citewell.adapters.llm import split_spec
        from citewell.adapters.llm.model_presence import Presence

        settings = self._settings()
        vendor, _ = split_spec(settings.model)
        with self._lock:
            if self._presence is None:
                self._presence = Presence(self._connect)
            presence = self._presence
        presence.check(name)
        with self._lock:
            if name not in self._writers:
                self._writers[name] = make_model_writer(settings.model_copy(update={"model": f"{vendor}:{name}"}))
            return self._writers[name]

    def _connect(self) -> RemoteServer:
        from citewell.adapters.llm import make_server, split_spec
        from citewell.adapters.llm.shared_request import LIMIT_S

        settings = self._settings()
        key = settings.model_key.get_secret_value() if settings.model_key else None
        return make_server(split_spec(settings.model)[0], url=settings.model_url, key=key, timeout_s=LIMIT_S)
