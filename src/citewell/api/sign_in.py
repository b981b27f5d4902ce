"""The ways in besides the printed link: a password, or a provider that signs people in."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from typing import Any

from citewell.adapters.oidc.provider import Provider
from citewell.adapters.store.sharing import tenants
from citewell.app import App
from citewell.errors import LibraryError, NotFound


class SignInMethods:
    """What somebody has to say to come in here."""

    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def provider(self) -> Provider:
        """Who signs people in besides us."""
        settings = self._app.settings
        if settings.oidc_issuer is None:
            raise NotFound("Single sign-on is not set up here. Sign in with a password.")
        secret = settings.oidc_client_secret
        return Provider(
            settings.oidc_issuer,
            client_id=settings.oidc_client_id,
            client_secret=secret.get_secret_value() if secret else None,
        )

    def only_tenant(self) -> str | None:
        """The tenant of whoever names none; None where there are several, since nobody's is taken for granted."""
        known = self._tenants()
        return None if len(known) > 1 else next(iter(known), self._app.tenant)

    def form(self) -> dict[str, Any]:
        """What the page asks for: the provider beside passwords, and the organisation where there are several."""
        settings, is_shared = self._app.settings, False
        with suppress(LibraryError):  # the form is shown beside what went wrong, and must not fail of the same
            is_shared = len(self._tenants()) > 1
        return {"provider": settings.oidc_label if settings.oidc_issuer else None, "asks_organisation": is_shared}

    def _tenants(self) -> frozenset[str]:
        return tenants(self._app.library.engine, self._app.library.path)
