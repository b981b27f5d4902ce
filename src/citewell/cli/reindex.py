"""`citewell reindex`: embed everything anew."""

from __future__ import annotations

import typer

from citewell.cli.common import Home, Json, opened, print_result
from citewell.cli.progress import progress


def reindex(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Re-index all documents with the configured embedding model. The old index is used until the switch."""
    with opened(context, home) as app, progress(quiet=json) as watch:
        count = app.reindex(watch)
        fingerprint = app.embedder.fingerprint
    print_result(
        {"documents": count, "embedder": fingerprint},
        f"{count} document versions now use vectors from {fingerprint}.",
        as_json=json,
    )
