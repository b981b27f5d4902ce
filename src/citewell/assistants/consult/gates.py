"""What stands before the differentials and before the signature; each gate says what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.assistants.consult.interview import missing
from citewell.errors import InputError
from citewell.types.consult import Consult, ConsultState, RedFlag

NOT_READY = (
    "Missing before differentials: {missing} Answer these, or give a reason to go ahead without them: on the page "
    'under “Reason for going ahead”, in a terminal with --despite "…".'
)
CONTRADICTED = (
    "Resolve this before differentials: {questions} Answer, correct the finding that is wrong, or give a reason to go "
    'ahead: on the page under “Reason for going ahead”, in a terminal with --despite "…".'
)
NOT_SETTLED = (
    "Resolve this before signing: {questions} Answer, correct the finding that is wrong, or give a reason to sign "
    'anyway: on the page under “Reason for signing despite this”, in a terminal with --despite "…".'
)
AGAINST = (
    "Before signing: {told} Change the wording, or give a reason to sign anyway: on the page under “Reason for signing "
    'despite this”, in a terminal with --despite "…".'
)
FLAGGED = "Red flags come first: {flags} Acknowledge them to continue."
NOT_DRAFT = "Only a draft can be signed; this consultation is {state}. Draft a plan first."


def before_differentials(consult: Consult, flags: Sequence[RedFlag], despite: str | None) -> None:
    """Red flags are acknowledged first; what is missing is answered, or there is a reason not to wait."""
    unseen = [flag for flag in flags if flag.id not in consult.acknowledged]
    if unseen:
        told = " ".join(f"{red_flag.title}: {red_flag.act} {red_flag.why} ({red_flag.source})." for red_flag in unseen)
        raise InputError(FLAGGED.format(flags=told))
    despite = (despite or "").strip()
    if consult.contradictions and not despite:
        raise InputError(CONTRADICTED.format(questions=_questions(consult)))
    lacking = missing(consult)
    if lacking and not (despite or consult.despite):
        raise InputError(NOT_READY.format(missing=" ".join(question.text for question in lacking)))


def before_signing(consult: Consult, flags: Sequence[RedFlag], name: str, despite: str | None) -> str | None:
    """Only a draft is signed, by somebody, after its red flags; why it is meant all the same, where that is asked."""
    if consult.state is not ConsultState.DRAFT:
        raise InputError(NOT_DRAFT.format(state=consult.state.value.replace("_", " ")))
    if not name.strip():
        raise InputError("Enter the name of the clinician who is signing.")
    if unseen := [flag.title for flag in flags if flag.id not in consult.acknowledged]:
        raise InputError(FLAGGED.format(flags=", ".join(unseen) + "."))
    reason = (despite or "").strip() or None
    if (grave := consult.grave()) and reason is None:
        raise InputError(AGAINST.format(told=" ".join(f"{label}: {text}" for label, text in grave)))
    if consult.is_unexplained and reason is None:
        raise InputError(NOT_SETTLED.format(questions=_questions(consult)))
    return reason if grave or consult.is_unexplained else None


def _questions(consult: Consult) -> str:
    return " ".join(contradiction.question for contradiction in consult.contradictions)
