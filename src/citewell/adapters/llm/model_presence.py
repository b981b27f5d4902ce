"""Whether a server has a model, asked before a question is answered by it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from citewell.adapters.llm import shared_request as once
from citewell.adapters.llm.failures import Endpoint
from citewell.adapters.llm.model_limits import exact
from citewell.adapters.llm.remote import RemoteServer
from citewell.errors import CitewellError, LLMTimeoutError


@dataclass(frozen=True, slots=True)
class ServerModels:
    """What a server said: its models, or that it does not tell."""

    names: tuple[str, ...] | None
    endpoint: Endpoint


class Presence:
    """Knows the models of a server as of a moment ago; whoever wants to know waits for so long and no longer."""

    def __init__(self, connect: Callable[[], RemoteServer]) -> None:
        self._connect = connect
        self._once = once.SharedRequest(self._told)

    def check(self, name: str) -> None:
        """Raise where the server does not have the model, cannot be reached or does not say in time."""
        asking = self._once.asked()
        try:
            server_models = asking.told.result(asking.left_s)
        except TimeoutError:
            raise LLMTimeoutError(
                f"The model server did not list its models within {once.LIMIT_S:g} s. Ask again, or ask without "
                "choosing a model. If it keeps failing, check the server."
            ) from None
        except CitewellError as error:
            raise type(error)(*error.args) from None  # one for each: an error carries whose question it was
        if server_models.names is not None and exact(name) not in map(exact, server_models.names):
            raise server_models.endpoint.unavailable(name)

    def _told(self) -> ServerModels:
        with closing(self._connect()) as server:
            names = server.names()
            return ServerModels(None if names is None else tuple(names), server.endpoint)
