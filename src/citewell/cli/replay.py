"""`citewell replay`: ask a recorded question again on the versions that answered then."""

from __future__ import annotations

import typer

from citewell.answer.history_json import replay_json
from citewell.answer.replay import Replay, SentenceChange
from citewell.cli.audit import AnswerId, answer_id
from citewell.cli.common import Home, Json, opened, print_json, printable

MARKS = {"same": "=", "changed": "~", "gone": "-", "new": "+"}


def replay(context: typer.Context, answer: AnswerId, home: Home = None, json: Json = False) -> None:
    """Ask a logged question again on the same versions, and show the differences sentence by sentence."""
    with opened(context, home) as app:
        found = app.replay(answer_id(app, answer))
    if json:
        print_json(replay_json(found))
    else:
        _print(found)


def _print(found: Replay) -> None:
    typer.echo(printable(found.record.words["question"]))
    if found.action_then != found.action_now:
        typer.echo(f"Before: {found.action_then or 'unfinished'}. Now: {found.action_now}.")
    for change in found.changes:
        for line in _lines(change):
            typer.echo(printable(line))
    for note in found.notes:
        typer.echo(printable(f"Note: {note}"))
    typer.echo("The same answer as before." if found.is_same else "Not the same answer as before.")


def _lines(change: SentenceChange) -> list[str]:
    entry = change.now or change.then or {}
    lines = [f"{MARKS[change.kind]} {entry['text']}  ({entry['verdict']}{'' if entry['is_shown'] else ', withheld'})"]
    if change.kind == "changed" and change.then:
        shown = "" if change.then["is_shown"] else ", withheld"
        lines.append(f"    then: {change.then['verdict']}{shown}")
    return lines
