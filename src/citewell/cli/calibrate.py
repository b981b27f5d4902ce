"""`citewell calibrate`: fit how relevance is read from the cosines of another embedder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from citewell.cli.common import Home, Json, opened, print_json


def calibrate(
    context: typer.Context,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder with judged claims in SciFact's layout (corpus.jsonl, claims_train.csv) to fit on.",
            show_default=False,
        ),
    ] = None,
    home: Home = None,
    json: Json = False,
) -> None:
    """Calibrate match scores for the configured embedding model, if it is not the built-in one.

    Without --data, match scores are fitted on sentences from the library, using the built-in model; with it, on judged
    claims, all of which are sent to the embedding server.
    """
    from citewell.operations.calibrate import calibrate as fitted

    with opened(context, home) as app:
        made = fitted(app, data=data)
    calibration = made.fit.calibration
    if json:
        entry = {name: value for name, value in asdict(calibration).items() if name != "is_fitted"}
        how = {"fitted_on": made.on, "pairs": made.fit.pairs, "agreement": made.fit.agreement, "error": made.fit.error}
        print_json({**entry, **how, "file": str(made.path)})
        return
    typer.echo(f"Relevance is now calibrated for {calibration.embedder}: {made.fit.pairs} pairs, {made.on}.")
    if made.fit.agreement is not None:
        typer.echo(f"Agreement with the built-in model's similarities: {made.fit.agreement:.2f}.")
    if made.fit.error is not None:
        typer.echo(f"Expected calibration error on held-out claims: {made.fit.error:.3f}.")
    typer.echo(f"Saved to {made.path}.")
