"""Folds the events of a consult into the consult as it stands; the same events give the same consult, always."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from citewell.assistants.consult.contradictions import contradictions
from citewell.assistants.consult.events_json import differential_of, finding_of
from citewell.ports.consult import ConsultEvent
from citewell.types.consult import Consent, Consult, ConsultState, Finding, InterviewTurn, Signature, UnusedWords

Body = Mapping[str, Any]


def fold(events: Iterable[ConsultEvent]) -> Consult:
    """The consult that these events made."""
    consult: Consult | None = None
    for number, event in enumerate(events, 1):
        if event.kind == "started":
            body = event.body
            consult = Consult(
                body["id"], event.at, event.at, ConsultState.INTERVIEWING, body.get("setting"), body.get("country")
            )
        else:
            assert consult is not None, "a consult begins with its start"
            consult = STEPS[event.kind](consult, event)
        consult = replace(consult, changed_at=event.at, length=number)
    assert consult is not None, "a consult has events"
    return replace(consult, contradictions=contradictions(consult.findings))


def _said(consult: Consult, event: ConsultEvent) -> Consult:
    turn = InterviewTurn(len(consult.messages) + 1, event.body["role"], event.body["text"], event.at)
    unused = (UnusedWords(**one) for one in event.body.get("unused", ()))
    return replace(consult, messages=(*consult.messages, turn), unused=(*consult.unused, *unused))


def _asked(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(_said(consult, event), asked=event.body["key"])


def _found(consult: Consult, event: ConsultEvent) -> Consult:
    """New findings; each may take the place of older ones, which are kept with the reason."""
    for told in event.body["findings"]:
        for old_id, why in told.get("replaces", ()):
            consult = _without(consult, old_id, why)
        finding = finding_of({key: value for key, value in told.items() if key != "replaces"})
        consult = replace(consult, findings=(*consult.findings, finding))
    return _reopened(consult)


def _retracted(consult: Consult, event: ConsultEvent) -> Consult:
    return _reopened(_without(consult, event.body["id"], event.body["why"]))


def _without(consult: Consult, finding_id: str, why: str) -> Consult:
    old = [finding for finding in consult.findings if finding.id == finding_id]
    left = tuple(finding for finding in consult.findings if finding.id != finding_id)
    return replace(consult, findings=left, gone=(*consult.gone, *((finding, why) for finding in old)))


def _confirmed(consult: Consult, event: ConsultEvent) -> Consult:
    def marked(finding: Finding) -> Finding:
        return replace(finding, is_confirmed=True) if finding.id in event.body["ids"] else finding

    return replace(consult, findings=tuple(marked(finding) for finding in consult.findings))


def _reopened(consult: Consult) -> Consult:
    """Another finding makes a draft old: it has to be assessed anew."""
    if consult.state in (ConsultState.DRAFT, ConsultState.FAILED):
        return replace(consult, state=ConsultState.DIFFERENTIALS_READY, plan=None, failure=None)
    return consult


def _skipped(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, skipped=(*consult.skipped, event.body["key"]))


def _differentials(consult: Consult, event: ConsultEvent) -> Consult:
    differentials = tuple(differential_of(one) for one in event.body["differentials"])
    state = ConsultState.DIFFERENTIALS_READY if differentials else ConsultState.INTERVIEWING
    return replace(consult, differentials=differentials, state=state, plan=None, failure=None)


def _acknowledged(consult: Consult, event: ConsultEvent) -> Consult:
    known = dict.fromkeys((*consult.acknowledged, *event.body["ids"]))
    return replace(consult, acknowledged=tuple(known))


def _despite(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, despite=event.body["reason"])


def _consented(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, consent=Consent(event.body["source"], event.body["shown"], event.by, event.at))


def _assessing(consult: Consult, _event: ConsultEvent) -> Consult:
    return replace(consult, state=ConsultState.ASSESSING, failure=None)


def _drafted(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(
        consult, state=ConsultState.DRAFT, plan=dict(event.body["plan"]), edits=(), own=(), removed=(), moves=()
    )


def _failed(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, state=ConsultState.FAILED, failure=event.body["reason"])


def _edited(consult: Consult, event: ConsultEvent) -> Consult:
    edit = {**event.body, "by": event.by, "at": event.at}
    return replace(consult, edits=(*consult.edits, edit))


def _added(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, own=(*consult.own, {**event.body, "by": event.by, "at": event.at}))


def _removed(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, removed=(*consult.removed, (event.body["statement"], event.body["why"])))


def _restored(consult: Consult, event: ConsultEvent) -> Consult:
    left = tuple(pair for pair in consult.removed if pair[0] != event.body["statement"])
    return replace(consult, removed=left)


def _moved(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, moves=(*consult.moves, (event.body["statement"], event.body["before"])))


def _signed(consult: Consult, event: ConsultEvent) -> Consult:
    body = event.body
    consult = replace(consult, state=ConsultState.SIGNED, signed_by=body["name"], signed_at=event.at)
    told = body.get("signature")
    signature = None if told is None else Signature(**told, at=event.at)
    return replace(consult, answer_id=body["answer_id"], meant=body.get("meant"), signature=signature)


def _noted(consult: Consult, event: ConsultEvent) -> Consult:
    return replace(consult, notes=(*consult.notes, event.body["text"]))


STEPS: dict[str, Callable[[Consult, ConsultEvent], Consult]] = {
    "said": _said,
    "asked": _asked,
    "found": _found,
    "retracted": _retracted,
    "confirmed": _confirmed,
    "skipped": _skipped,
    "differentials": _differentials,
    "acknowledged": _acknowledged,
    "despite": _despite,
    "consented": _consented,
    "assessing": _assessing,
    "drafted": _drafted,
    "failed": _failed,
    "edited": _edited,
    "added": _added,
    "removed": _removed,
    "restored": _restored,
    "moved": _moved,
    "signed": _signed,
    "noted": _noted,
}
