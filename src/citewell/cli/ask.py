"""`citewell ask`: a question, answered with sentences that are each cited and checked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from citewell.answer.answer_json import done_json, left_out_words, without_help
from citewell.answer.cite import Marks, mark
from citewell.answer.events import AnswerDone, AnswerStarted, Event, Notice, Replace, SentenceChecked, StageStarted
from citewell.cli.common import (
    Home,
    Journey,
    Json,
    Subject,
    Tags,
    need_documents,
    opened_to_read,
    print_json,
    printable,
)
from citewell.cli.conversations import conversation_id
from citewell.errors import CitewellError, InputError
from citewell.types import MAX_CHUNKS, Answer, AskOptions, Cite, Qualified, Route, User

if TYPE_CHECKING:
    from citewell.app import App


STAGES = {
    "searching": "Searching",
    "reading": "Reading",
    "writing": "Writing",
    "checking": "Checking each sentence",
}
CLEAN = "\r\x1b[K"


class StageDisplay:
    """The stage of now, beside the answer and never in it; nothing where nobody looks."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_shown = not is_quiet and sys.stderr.isatty()
        self._is_told = False

    def tell(self, event: StageStarted) -> None:
        """A stage has begun."""
        if not self._is_shown:
            return
        count = f" {event.count} passage{'' if event.count == 1 else 's'}" if event.stage == "reading" else ""
        typer.echo(f"{CLEAN}{STAGES[event.stage]}{count}…", err=True, nl=False)
        self._is_told = True

    def clear(self) -> None:
        """Make room for what is told."""
        if self._is_told:
            typer.echo(CLEAN, err=True, nl=False)
            self._is_told = False


def ask(
    context: typer.Context,
    question: Annotated[str, typer.Argument(help="Your question.", show_default=False)],
    tag: Tags = None,
    journey: Journey = None,
    subject: Subject = None,
    conversation: Annotated[
        str | None, typer.Option(help="ID of the conversation to continue.", show_default=False)
    ] = None,
    continued: Annotated[bool, typer.Option("--continue", help="Continue the last conversation.")] = False,
    model: Annotated[str | None, typer.Option(help="Use another model for this question.", show_default=False)] = None,
    max_passages: Annotated[
        int | None,
        typer.Option(
            "--max-passages",
            "--max-context-chunks",
            help="Number of passages the answer may draw on.",
            min=1,
            max=MAX_CHUNKS,
            show_default=False,
        ),
    ] = None,
    document: Annotated[str | None, typer.Option(help="ID of the one document to ask.", show_default=False)] = None,
    send: Annotated[
        bool, typer.Option("--send/--no-send", help="Send a question the documents do not answer to a person.")
    ] = True,
    marks: Annotated[Marks, typer.Option(help="Citation style.")] = Marks.NUMBER,
    home: Home = None,
    json: Json = False,
) -> None:
    """Answer a question with every sentence cited and checked, or send it to the right person."""
    with opened_to_read(context, home) as app:
        need_documents(app)
        asker = app.owner(tags=tag, journey=journey, subject=subject)
        if document is not None:
            asker = User.owner(
                replace(
                    app.scope_of_owner(), document=app.library.entry(app.find(document), app.scope_of_owner()).lineage
                )
            )
        chosen = _chosen(app, conversation, continued)
        options = AskOptions(model, max_passages)
        done = _answered(
            app.ask_service.ask(question, asker=asker, conversation_id=chosen, options=options, hand_on=send),
            marks=marks,
            quiet=json,
        )
    if json:
        print_json(done_json(done, with_withheld=True, marks=marks))
    else:
        _print_end(done, marks, app.policy.threshold)
        if done.answer.query not in ("", question):
            typer.echo(printable(f"Searched for: {done.answer.query}"))
        typer.echo(f"Answer {done.answer.id[:8]} in conversation {(done.conversation_id or '')[:8]}")


def _answered(events: Iterator[Event], *, marks: Marks, quiet: bool) -> AnswerDone:
    """The answer, its sentences printed as they come; after a failure the word that the question is kept."""
    kept, stages = "", StageDisplay(is_quiet=quiet)
    try:
        for event in events:
            if isinstance(event, StageStarted):
                stages.tell(event)
                continue
            stages.clear()
            if isinstance(event, AnswerStarted):
                kept = event.conversation_id
            elif isinstance(event, AnswerDone):
                return event
            elif isinstance(event, Notice) and event.is_emergency and not quiet:
                typer.echo(printable(f"{event.text}\n"))
            elif isinstance(event, Replace) and not event.claim.is_shown and not quiet:
                typer.echo("  (withdrawn: the answer as a whole is not well enough supported)")
            elif isinstance(event, SentenceChecked | Replace) and event.claim.is_shown and not quiet:
                cited = "".join(f" {mark(citation, marks)}" for citation in event.citations)
                typer.echo(printable(f"{event.claim.text}{cited}  ({event.claim.check.verdict})"))
    except CitewellError:
        stages.clear()
        typer.echo(f"Your question has been saved. To ask it again, use --conversation {kept[:8]}.", err=True)
        raise
    raise AssertionError("an answer ends with its last event")


def _chosen(app: App, conversation: str | None, continued: bool) -> str | None:
    """The conversation to go on with, or None to begin a new one."""
    if conversation is not None:
        return conversation_id(app, conversation)
    known = app.ask_service.conversations.page(app.owner(), limit=1).items if continued else ()
    if continued and not known:
        raise InputError("There is no conversation to continue yet. Ask without --continue first.")
    return known[0].id if known else None


def _print_end(done: AnswerDone, marks: Marks, threshold: float) -> None:
    """The sources, or why there is no answer and who gets the question."""
    from citewell.answer.gate import UNANSWERED
    from citewell.clinical.spelling_correction import corrections

    answer = done.answer
    for word, right in corrections(answer.question).items():
        typer.echo(printable(f"Showing results for {right}. You typed “{word}”."))
    _print_flagged(answer)
    if isinstance(answer.action, Route) and done.routed_id is not None:
        typer.echo(
            printable(f"{UNANSWERED.format(reason=answer.action.reason)} {_passed_on(answer.action, done.routed_id)}")
        )
        _print_left_out(answer)
        return
    if not isinstance(answer.action, Cite | Qualified):
        typer.echo(printable(without_help(answer)))
        if isinstance(answer.action, Route):
            typer.echo(f"Not sent to anyone. To send it, use `citewell inbox send {answer.id[:8]}`.")
        return
    typer.echo("")
    for citation in answer.citations:
        place = " · ".join([*([f"page {citation.page}"] if citation.page else []), " > ".join(citation.section)])
        named = mark(citation, marks)
        typer.echo(printable(f"{named} {citation.document}, {place.strip(' ·')}  ({citation.source_id})"))
    if isinstance(answer.action, Qualified):
        typer.echo(f"Note: {answer.action.reason}.")
    _print_left_out(answer)
    confidence = f"Chance that it is right {min(answer.confidence.calibrated, 0.99):.2f}"
    score = f"score {answer.confidence.overall:.2f}, at least {threshold:.2f} needed"
    typer.echo(f"{confidence} · {score} · {answer.model} · {answer.took_ms:.0f} ms")


def _print_flagged(answer: Answer) -> None:
    """Say of documents whose passages hold orders to the assistant that they do; nothing in them was obeyed."""
    sources = {one.hit.document: one.hit.source_id for one in answer.evidence if one.is_suspicious}
    for title in answer.suspicious:
        place = f"  ({sources[title]})" if title in sources else ""
        said = f"Note: a passage of {title} contains what looks like an instruction; it was not followed."
        typer.echo(printable(f"{said}{place}"))


def _print_left_out(answer: Answer) -> None:
    """What of the passages the writer was not shown, where there is any."""
    if told := left_out_words(answer.left_out, answer.shortened, len(answer.evidence)):
        typer.echo(told)


def _passed_on(action: Route, routed_id: str) -> str:
    """Where the question waits; the person at this machine is an administrator."""
    if action.owner_email is not None:
        return f"Sent to {action.owner_email}. `citewell inbox asked` will show the reply."
    waits = "Sent to the administrators' inbox. `citewell inbox asked` shows it and the reply."
    return f"{waits} To reply, use `citewell inbox reply {routed_id[:8]} TEXT`."
