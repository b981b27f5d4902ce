"""What `doctor` says of parts that are there only where a setting names them: replica, language model, sign-in."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Literal

from citewell.errors import CitewellError

if TYPE_CHECKING:
    from citewell.app import App

Found = tuple[Literal["ok", "warning", "failed"], str]


def look_at_replica(app: App) -> Found:
    """Whether the copy for searching answers, and how far it is."""
    from citewell.adapters.index.qdrant import QdrantIndex

    if not isinstance(app.index, QdrantIndex):
        return "ok", "none set: the library's own index is used"
    lag = app.index.lag()
    if lag.is_current:
        return "ok", "in step with the library"
    return "warning", f"{lag.documents} document versions behind: run `citewell replica feed --watch`"


def look_at_model(app: App) -> Found:
    """Whether the language model is there; without one sentences are verbatim."""
    from citewell.adapters.llm import split_spec
    from citewell.adapters.llm.listing import server_of

    if app.settings.model == "extractive":
        return "ok", "none set: answers are quoted word for word"
    vendor, name = split_spec(app.settings.model)
    try:
        with closing(server_of(app.settings, vendor)) as server:
            server.check(name)
    except CitewellError as error:
        return "failed", f"{error} Until then, answers are quoted word for word."
    return "ok", f"{app.settings.model} available"


def look_at_sign_in(app: App) -> Found:
    """Whether the sign-in provider answers, and lets anybody in."""
    from citewell.adapters.oidc.provider import Provider

    chosen = app.settings
    if chosen.oidc_issuer is None:
        return "ok", "passwords only; no provider set"
    Provider(chosen.oidc_issuer, client_id=chosen.oidc_client_id, client_secret=None).check()
    if not chosen.oidc_roles:
        return "failed", "the provider responds but no one can sign in: set CITEWELL_OIDC_ROLES"
    return "ok", f"passwords, and {chosen.oidc_issuer} (responding)"
