"""`citewell serve`: the web pages and the API, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_result


def serve(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on [127.0.0.1].", show_default=False)] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 picks a free one [8477].", min=0, max=65_535, show_default=False)
    ] = None,
    samples: Annotated[bool, typer.Option("--samples", help="Add the sample library first.")] = False,
    home: Home = None,
    json: Json = False,
) -> None:
    """Start the web pages and print a link that opens them."""
    from citewell.api.serve import bind, missing_administrator, refuse_unready, run, token_for

    with opened(context, home) as app:
        refuse_unready(app, host or app.settings.host)
        if missing := missing_administrator(app):
            typer.echo(missing, err=True)
        if samples:
            for outcome in app.add_samples():
                if outcome.error is not None:
                    typer.echo(f"{outcome.path.name}: {outcome.error}", err=True)
        listening = bind(host or app.settings.host, app.settings.port if port is None else port)
        address, number = listening.getsockname()[:2]
        token = token_for(app.settings)
        link = f"http://{address}:{number}/?token={token}"
        print_result(
            {"url": link, "address": address, "port": number},
            f"Citewell is running at {link}\nStop it with Ctrl-C.",
            as_json=json,
        )
        run(app, listening, token=token)
