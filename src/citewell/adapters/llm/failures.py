"""Turns what vendors' clients raise into our errors; a message never repeats a prompt, a reply or a key."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.adapters.remote import TransientFailure, place_of
from citewell.errors import (
    CitewellError,
    LLMConnectionError,
    LLMTimeoutError,
    ModelError,
    ModelReply,
    ModelUnavailableError,
    TokenBudgetExceededError,
)

UNREACHABLE = {"ConnectTimeout", "PoolTimeout", "NetworkError", "ProtocolError", "ProxyError", "ConnectionError"}
SILENT = {"TimeoutException", "APITimeoutError", "TimeoutError"}
UNREADABLE = {"JSONDecodeError", "UnicodeDecodeError", "ValidationError", "TypeError", "AttributeError"}
"""Names of exceptions and their bases. The clients use httpx or its fork httpx2, depending on their version, and two of
them generate classes of the same names from one template: hence names, not classes."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A vendor's server, as its failures name it."""

    vendor: str
    url: str
    start: str = "Check the connection, or set CITEWELL_MODEL_URL."
    """What to do when nothing answers."""
    fetch: str = "Choose one of the models listed by `citewell models`."
    """What to do when it does not have the model; {name} stands for it."""

    @property
    def place(self) -> str:
        """The vendor and its address, without any user or key that the address may hold."""
        return place_of(self.vendor, self.url)

    def unavailable(self, model: str) -> ModelUnavailableError:
        """It does not have this model."""
        return ModelUnavailableError(f"{self.place} does not have the model {model}. {self.fetch.format(name=model)}")


def failure(error: Exception, endpoint: Endpoint, *, model: str, detail: str | None = None) -> Exception:
    """Our error for a vendor's; `detail` is the server's own reason, where that can hold no words of a prompt."""
    if isinstance(error, CitewellError | TransientFailure):
        return error
    status = _status(error)
    if status is not None:
        return _refused(status, error, endpoint, model, detail)
    names = {kind.__name__ for one in (error, error.__cause__) for kind in type(one).__mro__}
    if names & UNREACHABLE or ("APIConnectionError" in names and not names & SILENT):
        return TransientFailure(LLMConnectionError(f"{endpoint.place} could not be reached. {endpoint.start}"))
    if names & SILENT:
        return LLMTimeoutError(f"{endpoint.place} stopped answering. Ask again, or raise CITEWELL_MODEL_TIMEOUT_S.")
    if names & UNREADABLE:
        return ModelReply(f"{endpoint.place} sent an unreadable reply. Check that the address is right.")
    reason = f": {detail[:200]}" if detail else f" ({type(error).__name__})"
    return ModelError(f"{endpoint.place} could not answer{reason}. Ask again, or choose another model.")


def _status(error: Exception) -> int | None:
    """The HTTP status that an exception carries, whatever its client calls it."""
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and value >= 400:
            return value
    return None


def _refused(status: int, error: Exception, endpoint: Endpoint, model: str, detail: str | None) -> Exception:
    place = endpoint.place
    label = detail[:200] if detail else _label(error)
    told = f"{status}: {label}" if label else f"{status}"
    if status in (401, 403):
        return ModelError(f"{place} refused the key ({status}). Check CITEWELL_MODEL_KEY and its permissions.")
    if status == 404:
        return endpoint.unavailable(model)
    if status == 413 or (status == 400 and _is_too_long(error)):
        return TokenBudgetExceededError(
            f"The prompt is too long for {model} at {place}. Lower CITEWELL_MAX_CONTEXT_TOKENS."
        )
    if status == 429:
        busy = ModelError(
            f"{place} is not accepting more requests at the moment ({told}). Wait a minute, then ask again."
        )
        return TransientFailure(busy, retry_after=_retry_after(error))
    if status == 408 or status >= 500:
        broken = ModelError(f"{place} failed ({told}). Ask again. If it keeps failing, check the server's log.")
        return TransientFailure(broken, retry_after=_retry_after(error))
    return ModelError(f"{place} refused the request ({told}). Check the model's name and CITEWELL_MODEL_URL.")


def _label(error: Exception) -> str:
    """The short code that a server gave its error, such as `rate_limit_exceeded`; never its message."""
    for name in ("code", "type", "status"):
        value = getattr(error, name, None)
        if isinstance(value, str) and re.fullmatch(r"\w{1,40}", value):
            return value
    return ""


def _is_too_long(error: Exception) -> bool:
    told = f"{error} {_label(error)}".lower()
    return re.search(r"context[_ ](length|size)|prompt is too long|maximum number of tokens", told) is not None


def _retry_after(error: Exception) -> object:
    headers = getattr(getattr(error, "response", None), "headers", None)
    return headers.get("retry-after") if headers is not None else None
