"""`citewell verify`: prove that the library agrees with itself."""

from __future__ import annotations

import typer

from citewell.cli.common import Home, Json, opened, print_json


def verify(context: typer.Context, home: Home = None, json: Json = False) -> None:
    """Verify that originals, text, passages, sentences, words and vectors agree."""
    with opened(context, home) as app:
        result = app.verify()
    if json:
        print_json({"ok": not result.problems, **{key: getattr(result, key) for key in result.__slots__}})
    else:
        for problem in result.problems:
            typer.echo(f"✗ {problem}", err=True)
        spoilt = any("`citewell" not in problem for problem in result.problems)  # the others say what to run
        told = f"{len(result.problems)} problems{'; add those files again' if spoilt else ''}."
        typer.echo(
            f"{result.documents} document versions, {result.chunks} passages, {result.sentences} sentences: "
            + (told if result.problems else "all consistent.")
        )
    if result.problems:
        raise typer.Exit(1)
