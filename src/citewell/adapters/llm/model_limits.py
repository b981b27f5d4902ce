"""Which language models may be used, and how much each may read and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewell.errors import InputError, ModelNotAllowedError


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """How much a model may read and write, in tokens."""

    context_window: int
    max_reply_tokens: int


MODEL_LIMITS: Mapping[str, ModelLimits] = {
    "llama3.2": ModelLimits(8_192, 1_024),
    "qwen3:8b": ModelLimits(32_768, 2_048),
    "deepseek-r1:32b": ModelLimits(65_536, 4_096),
}
"""The models that are allowed without being configured."""


def exact(name: str) -> str:
    """The name with its tag: none means `latest`, and a port of a registry is no tag.

    >>> exact("llama3.2"), exact("qwen3:8b"), exact("registry:5000/team/model")
    ('llama3.2:latest', 'qwen3:8b', 'registry:5000/team/model:latest')
    """
    name = name.strip()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def allow_list(configured: Sequence[str] = ()) -> dict[str, ModelLimits]:
    """The built-in models and the configured ones; what is configured wins.

    >>> allow_list(["mistral:7b=32768/1024"])["mistral:7b"]
    ModelLimits(context_window=32768, max_reply_tokens=1024)
    """
    return {**MODEL_LIMITS, **dict(map(_configured, configured))}


def allowed(name: str, configured: Sequence[str] = ()) -> ModelLimits:
    """The limits of a model of exactly this name and tag.

    >>> allowed("llama3.2:latest") == allowed("llama3.2")
    True
    >>> allowed("llama3.2:1b")
    Traceback (most recent call last):
    citewell.errors.ModelNotAllowedError: The model llama3.2:1b is not on the list of allowed models...
    """
    known = allow_list(configured)
    for one, limits in known.items():
        if exact(one) == exact(name):
            return limits
    raise ModelNotAllowedError(
        f"The model {name} is not allowed. Choose one of {', '.join(known)}, or allow it with "
        f"CITEWELL_ALLOWED_MODELS='[\"{name}=WINDOW/REPLY\"]' (its context window and longest reply, in tokens)."
    )


def _configured(entry: str) -> tuple[str, ModelLimits]:
    """One entry of the settings, `name=window/reply`."""
    name, _, sizes = entry.rpartition("=")
    window, _, reply = sizes.partition("/")
    if not (name.strip() and window.strip().isdecimal() and reply.strip().isdecimal()):
        raise InputError(
            f"CITEWELL_ALLOWED_MODELS is not valid at {entry!r}. Write name=window/reply, such as "
            "mistral:7b=32768/1024, with both sizes in tokens."
        )
    limits = ModelLimits(int(window), int(reply))
    if not 0 < limits.max_reply_tokens < limits.context_window:
        raise InputError(
            f"CITEWELL_ALLOWED_MODELS gives {name.strip()} a reply that does not fit its window. The reply must be "
            "at least 1 token and smaller than the window."
        )
    return name.strip(), limits
