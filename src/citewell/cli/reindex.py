"""`citewell reindex`: embed everything anew."""

from __future__ import annotations

import typer

from citewell.cli.common import Home, Json, opened, print_json
from citewell.cli.progress import progress


def reindex(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Re-index all documents with the configured embedding model. The old index is used until the switch."""
    with opened(context, home) as app, progress(quiet=json) as watch:
        count = app.reindex(watch)
        fingerprint = app.embedder.fingerprint
    if json:
        print_json({"documents": count, "embedder": fingerprint})
    else:
        typer.echo(f"{count} document versions now use vectors from {fingerprint}.")
