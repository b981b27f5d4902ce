"""`citewell mcp`: Citewell as a tool of an assistant, over standard input and output."""

from __future__ import annotations

import asyncio
import secrets
from typing import Annotated

import typer

from citewell.cli.common import Home, opened_to_read
from citewell.errors import ScopeRefused


def mcp(
    context: typer.Context,
    user: Annotated[
        str | None,
        typer.Option(help="Email of the user to act as. By default, you act as the owner.", show_default=False),
    ] = None,
    home: Home = None,
) -> None:
    """Serve an assistant through MCP on standard input and output, until its client disconnects."""
    from citewell.api.doors.mcp_server import serve_stdio
    from citewell.api.server_state import ServerState
    from citewell.api.token_signer import TokenSigner
    from citewell.api.visitor import Visitor

    with opened_to_read(context, home) as app:

        def visitor() -> Visitor:
            if user is None:
                return Visitor.owner(app.tenant, way="key", csrf="")
            account = app.people.by_email(user, tenant=app.tenant)
            if not account.is_active:
                raise ScopeRefused("This user can no longer sign in. Ask an administrator.")
            return Visitor.of(account, way="key", csrf="")

        visitor()
        site = ServerState(app, TokenSigner(secrets.token_urlsafe()))
        try:
            asyncio.run(serve_stdio(site, visitor))
        finally:
            site.stop()
