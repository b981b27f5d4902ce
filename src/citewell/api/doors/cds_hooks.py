"""CDS Hooks 2.0: cards in a record system, where the patient meets a criterion or something speaks against an order."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from citewell import __version__
from citewell.adapters.records.fhir_import import read_fhir
from citewell.adapters.records.searchsets import is_about_other, objects, resources_of
from citewell.answer.audit import digest, scope_json
from citewell.api.doors.readable import Links, level_told, shortened
from citewell.api.guidelines import applied_ids, assessed, whole_asker
from citewell.api.problems import Problem, Refused
from citewell.api.request_checks import our_request
from citewell.api.server_state import Here, ServerState, is_answering
from citewell.api.visitor import Member, Visitor
from citewell.assistants.consult.order_warnings import OrderCheck, OrderWarning, order_warnings
from citewell.assistants.guidelines.assess import notes_on_patient
from citewell.assistants.guidelines.evaluate import ASK_AGE, ASK_SEX
from citewell.assistants.guidelines.patient_fhir import has_died, patient_from_bundle
from citewell.errors import InputError
from citewell.history import KeptOutcome
from citewell.types import Emergency

PATH = "/cds-services"
router = APIRouter(prefix=PATH)

PATIENT_VIEW, ORDER_SELECT = "citewell-patient-view", "citewell-order-select"
PREFETCH = {
    "patient": "Patient/{{context.patientId}}",
    "conditions": "Condition?patient={{context.patientId}}",
    "observations": "Observation?patient={{context.patientId}}",
}
ORDER_PREFETCH = {
    **PREFETCH,
    "medications": "MedicationRequest?patient={{context.patientId}}",
    "allergies": "AllergyIntolerance?patient={{context.patientId}}",
}
SERVICES = (
    {
        "hook": "patient-view",
        "id": PATIENT_VIEW,
        "title": "Guideline criteria that this patient meets",
        "description": "Compares the patient with the guidelines in the library and quotes the recommendations met.",
        "prefetch": PREFETCH,
    },
    {
        "hook": "order-select",
        "id": ORDER_SELECT,
        "title": "What speaks against an order",
        "description": "Compares ordered medicines with the patient's allergies, illnesses, pregnancy, kidneys, age "
        "and medicines, and with the product information in the library.",
        "prefetch": ORDER_PREFETCH,
    },
)
NO_SERVICE = Problem(HTTPStatus.NOT_FOUND, "NoService", "There is no such service. GET /cds-services lists them.")
NO_CARD = Problem(HTTPStatus.UNPROCESSABLE_ENTITY, "NoCard", "This server gave no card of that name. Nothing was kept.")
NOT_SENT = (
    "The service needs the prefetched {missing}, and does not fetch it itself. Send all that it lists as prefetch."
)
OTHER_PATIENT = "The prefetched data are about another patient than the context names. Nothing was compared."
DECEASED = "The record says that the patient has died, so no card is shown."
WRONG_HOOK = "This service is for another hook. GET /cds-services lists the hook of each."
MAX_SUMMARY = 139
FEEDBACK, ORDER_CHECK = "cds_feedback", "order_check"
"""Under which a record holds what became of a card, and the cards of an order."""
CARD_NAMES = uuid.UUID("8f14d2f0-6f0c-4b7e-9f57-1b1c0e2a9d33")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#+!|~])")

OVERRIDES = [
    {"code": code, "system": "urn:citewell:override-reason", "display": display}
    for code, display in (
        ("done", "Already done"),
        ("not-applicable", "Does not apply to this patient"),
        ("declined", "The patient declined"),
        ("other-plan", "Another plan was made"),
    )
]


class HookContext(BaseModel):
    """Where in the record system a hook was called."""

    model_config = ConfigDict(extra="allow")

    userId: Annotated[str, Field(min_length=1, max_length=200)]  # noqa: N815 - the standard's name
    patientId: Annotated[str, Field(min_length=1, max_length=200)]  # noqa: N815
    selections: Annotated[list[str] | None, Field(max_length=200)] = None
    draftOrders: dict[str, Any] | None = None  # noqa: N815


class HookRequest(BaseModel):
    """A call of a hook; fields of extensions are allowed, as the standard wants it."""

    model_config = ConfigDict(extra="allow")

    hook: Annotated[str, Field(max_length=64)]
    hookInstance: Annotated[str, Field(min_length=1, max_length=64)]  # noqa: N815
    context: HookContext
    prefetch: dict[str, dict[str, Any] | None] = {}


class ChosenReason(BaseModel):
    """The reason that was chosen, of those that a card offers or of the record system's own."""

    code: Annotated[str, Field(max_length=200)]
    system: Annotated[str | None, Field(max_length=500)] = None
    display: Annotated[str | None, Field(max_length=500)] = None


class OverrideReason(BaseModel):
    """Why a card was overridden."""

    reason: ChosenReason | None = None
    userComment: Annotated[str | None, Field(max_length=4_000)] = None  # noqa: N815


class CardFeedback(BaseModel):
    """What became of one card; other fields of the standard are of no use here and are not kept."""

    card: Annotated[str, Field(min_length=1, max_length=64)]
    outcome: Literal["accepted", "overridden"]
    outcomeTimestamp: Annotated[str, Field(max_length=64)]  # noqa: N815
    overrideReason: OverrideReason | None = None  # noqa: N815


class FeedbackRequest(BaseModel):
    """What became of cards."""

    feedback: Annotated[list[CardFeedback], Field(min_length=1, max_length=100)]


# ------------------------------------------------------------------------------------------------------------ services


@router.get("")
def discover(_visitor: Member) -> dict[str, Any]:
    """The services, with the hook of each and what it wants to be sent."""
    return {"services": [*SERVICES]}


@router.post(f"/{PATIENT_VIEW}", dependencies=[Depends(our_request)])
async def patient_view(request: Request, site: Here, visitor: Member, asked: HookRequest) -> dict[str, Any]:
    """A card for each recommendation whose criteria the patient meets."""
    _expect_hook(asked, "patient-view")
    sent = Prefetched.of(asked, PREFETCH)
    patient = await run_in_threadpool(patient_from_bundle, sent.bundle, on=date.today())  # noqa: DTZ011 - a birthday
    kept = await assessed(site, visitor, patient, await run_in_threadpool(applied_ids, site, visitor))
    shown, links = kept.shown(), _links(request, site, visitor)
    unread = [f"{unused['words']}: {unused['why']}" for unused in shown["unused"]]
    if any(has_died(person) for person in sent.people):
        return _response([], sent, answer_id=kept.id, unused=[*unread, DECEASED])
    cards = [
        *_emergency_cards(kept.assessment.emergency, kept.id),
        *_assessment_cards(shown, links, kept.id),
        *_unknown_cards(shown["unknowns"], kept.id),
    ]
    cards = _named(site, cards)
    told = {"unknowns": shown["unknowns"], "to_confirm": list(notes_on_patient(patient))}
    return _response(cards, sent, answer_id=kept.id, unused=unread, **told)


@router.post(f"/{ORDER_SELECT}", dependencies=[Depends(our_request)])
async def order_select(request: Request, site: Here, visitor: Member, asked: HookRequest) -> dict[str, Any]:
    """A card for each thing that speaks against a selected medicine."""
    _expect_hook(asked, "order-select")
    site.take_ask(visitor)
    sent = Prefetched.of(asked, ORDER_PREFETCH)
    ordered, not_named = _ordered(asked.context)
    links = await run_in_threadpool(_links, request, site, visitor)

    def work() -> tuple[list[dict[str, Any]], list[str], str]:
        imported = read_fhir(json.dumps(sent.bundle).encode())
        scope = visitor.whole
        shelf = [entry for entry in site.app.entries(scope) if is_answering(entry) and entry.subject is None]
        check = order_warnings(
            ordered, imported.facts, shelf, lambda document_id: site.opened(document_id, scope).document
        )
        cards = _named(site, _order_cards(check, links, asked.hookInstance))
        unread = [*not_named, *imported.document.notes, *_not_known(check)]
        told = [_warning_record(warning, card["uuid"]) for warning, card in zip(check.warnings, cards, strict=True)]
        part = {"patient_id": asked.context.patientId, "ordered": ordered, "warnings": told, "unused": unread}
        question = f"{asked.context.patientId}: orders checked: {'; '.join(ordered) or 'none'}"
        return cards, unread, _kept(site, visitor, question, {ORDER_CHECK: part})

    cards, unread, answer_id = await run_in_threadpool(work)
    return _response(cards, sent, answer_id=answer_id, unused=unread)


@router.post("/{service}/feedback", dependencies=[Depends(our_request)])
def feedback(site: Here, visitor: Member, service: str, given: FeedbackRequest) -> dict[str, Any]:
    """Keep what became of cards, on record."""
    if service not in (PATIENT_VIEW, ORDER_SELECT):
        raise Refused(NO_SERVICE)
    if not all(site.keys.is_own_id(card.card) for card in given.feedback):
        raise Refused(NO_CARD)
    for card in given.feedback:
        _keep_feedback(site, visitor, service, card)
    return {}


@router.post("/{service}", dependencies=[Depends(our_request)])
def no_service(_visitor: Member, service: str) -> dict[str, Any]:  # noqa: ARG001 - part of the path
    """Any other service is none."""
    raise Refused(NO_SERVICE)


def _named(site: ServerState, cards: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cards with names that are known again in what is said of them."""
    return [{**card, "uuid": site.keys.own_id(card["uuid"])} for card in cards]


def _links(request: Request, site: ServerState, visitor: Visitor) -> Links:
    return Links(site.base(request.url), site.samples(visitor))


def _expect_hook(asked: HookRequest, hook: str) -> None:
    if asked.hook != hook:
        raise InputError(WRONG_HOOK)


def _not_known(check: OrderCheck) -> list[str]:
    by_age = [] if check.has_age else ["patient: the age is not known, so nothing was checked by age"]
    return [*(f"{name}: not known as a medicine, so nothing was checked" for name in check.unknown), *by_age]


# ------------------------------------------------------------------------------------------------------- what was sent


@dataclass(frozen=True, slots=True)
class Prefetched:
    """What was sent of a patient, as one bundle, and what was not."""

    bundle: dict[str, Any]
    notes: tuple[str, ...]

    @property
    def people(self) -> list[dict[str, Any]]:
        """The Patient resources."""
        resources = [entry["resource"] for entry in self.bundle["entry"]]
        return [resource for resource in resources if resource.get("resourceType") == "Patient"]

    @classmethod
    def of(cls, asked: HookRequest, wanted: Mapping[str, str]) -> Prefetched:
        """All resources of the prefetch; refused where the patient is not in it, or is another one."""
        resources: list[dict[str, Any]] = []
        notes = []
        for name in wanted:
            given = asked.prefetch.get(name)
            if given is None or given.get("resourceType") == "OperationOutcome":
                if name == "patient":
                    raise Refused(Problem(HTTPStatus.PRECONDITION_FAILED, "NotSent", NOT_SENT.format(missing=name)))
                notes.append(f"{name}: not sent, so nothing of it was used")
                continue
            resources += resources_of(given)
            if any(link.get("relation") == "next" for link in objects(given.get("link"))):
                notes.append(f"{name}: there are more entries than were sent")
        for resource in resources:
            if is_about_other(resource, asked.context.patientId):  # who mixes patients up must not get cards for it
                raise InputError(OTHER_PATIENT)
        return cls(
            {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]},
            tuple(notes),
        )


def _ordered(context: HookContext) -> tuple[list[str], list[str]]:
    """The medicines of the selected draft orders, all of them where none is selected; and orders that name none."""
    selected = None if context.selections is None else set(context.selections)
    names, not_named = [], []
    for order in resources_of(context.draftOrders or {}):
        called = f"{order.get('resourceType')}/{order.get('id')}"
        if selected is not None and called not in selected:
            continue
        concept = order.get("medicationCodeableConcept")
        concept = concept if isinstance(concept, Mapping) else {}
        given = [concept.get("text"), *(one.get("display") for one in objects(concept.get("coding")))]
        name = next((name.strip() for name in given if isinstance(name, str) and name.strip()), None)
        if name is None:
            not_named.append(f"{called}: names no medicine, so nothing was checked")
        else:
            names.append(name)
    return list(dict.fromkeys(names)), not_named


# --------------------------------------------------------------------------------------------------------------- cards


def _response(
    cards: list[dict[str, Any]],
    sent: Prefetched,
    *,
    answer_id: str,
    unused: list[str],
    to_confirm: Sequence[str] = (),
    unknowns: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The cards, each saying what could not be used; where there are none, the extension alone says so."""
    left_out = [*sent.notes, *unused]
    said = _listed("To confirm", to_confirm) + _listed("Not used", left_out)
    cards = [{**card, "detail": f"{card['detail']}{said}"} for card in cards]
    told = {"unused": left_out, "unknowns": [*unknowns], "to_confirm": [*to_confirm]}
    return {"cards": cards, "extension": {"citewell": {"answer_id": answer_id, **told}}}


def _listed(heading: str, notes: Sequence[str]) -> str:
    """The first of some notes under a heading; nothing where there are none."""
    if not notes:
        return ""
    more = f"\n- and {len(notes) - 10} more" if len(notes) > 10 else ""
    return f"\n\n**{heading}:**\n" + "\n".join(f"- {escaped(shortened(note))}" for note in notes[:10]) + more


def _card(
    name: str, *, summary: str, detail: str, indicator: str, source: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid5(CARD_NAMES, name)),
        "summary": shortened(summary, MAX_SUMMARY),
        "detail": detail,
        "indicator": indicator,
        "source": source,
        "overrideReasons": OVERRIDES,
        **more,
    }


def _emergency_cards(emergency: Emergency | None, name: str) -> Iterator[dict[str, Any]]:
    if emergency is not None:
        yield _card(
            f"{name}:emergency",
            summary="This may be an emergency",
            detail=escaped(emergency.text),
            indicator="critical",
            source={"label": "Citewell: words in the record that tell of an emergency"},
        )


def _assessment_cards(shown: Mapping[str, Any], links: Links, answer_id: str) -> Iterator[dict[str, Any]]:
    """A card for each recommendation met, or met if confirmed, of which at least one condition is met."""
    editions = {guideline["name"]: guideline for guideline in shown["guidelines"]}
    for rule, citation in zip(shown["matched"], shown["citations"], strict=True):
        if not any(condition["state"] == "met" for condition in rule["conditions"]):
            continue
        guideline = editions[rule["guideline"]]
        edition = guideline["edition"] or "edition not stated"
        place = (citation["document_id"], citation["start"], citation["end"])
        place_text = f"{rule['guideline']} §{rule['rule']}, page {rule['page']}, {edition}"
        about = level_told(rule["risk_level"], [rule])
        conditions = "\n".join(
            f"- {condition['state']}: {escaped(condition['text'])}"
            + (f" ({escaped(condition['fact'])})" if condition["fact"] else "")
            for condition in rule["conditions"]
        )
        name = f"{rule['guideline']} §{rule['rule']}"
        yield _card(
            f"{answer_id}:{name}",
            summary=f"{about}: {rule['site'] or rule['action']} ({name})",
            detail=f"> {escaped(rule['quote'])}\n\n{escaped(links.marked(place_text, place[0]))}\n\n{conditions}",
            indicator="warning" if rule["risk_level"].startswith("Urgent") else "info",
            source={"label": links.marked(f"{guideline['title']}, {edition}", place[0]), "url": links.best(place[0])},
            links=[{"label": f"Read {name} on page {rule['page']}", "url": links.best(*place), "type": "absolute"}],
        )


def _unknown_cards(unknowns: Sequence[Mapping[str, Any]], answer_id: str) -> Iterator[dict[str, Any]]:
    """One card where a recommendation depends on an age or a sex that the record does not tell."""
    open_ = [unknown for unknown in unknowns if unknown["kind"] == "ask" and unknown["ask"] in (ASK_AGE, ASK_SEX)]
    if open_:
        yield _card(
            f"{answer_id}:unknown",
            summary=f"Recommendations may apply: {' '.join(unknown['ask'] for unknown in open_)}",
            detail="\n".join(
                f"- {escaped(unknown['ask'])} It decides {escaped(', '.join(unknown['rules']))}." for unknown in open_
            ),
            indicator="info",
            source={"label": "Citewell: what the record does not say"},
        )


def _order_cards(check: OrderCheck, links: Links, hook_instance: str) -> Iterator[dict[str, Any]]:
    for warning in check.warnings:
        conflict = warning.conflict
        yield _card(
            f"{hook_instance}:{conflict.kind}:{conflict.medicine}:{conflict.text}",
            summary=f"{conflict.medicine.capitalize()}: {conflict.kind}. {conflict.text}",
            detail=f"{escaped(conflict.text)}\n\nSource: {escaped(_source_label(warning, links))}",
            indicator="warning" if conflict.is_grave else "info",
            **_source(warning, links),
        )


def _source_label(warning: OrderWarning, links: Links) -> str:
    """The document and its version and date; the table of cautions and the record by their names."""
    if warning.entry is None:
        is_record = warning.conflict.source == "record"
        return "The patient's record" if is_record else f"Citewell's table of cautions ({warning.conflict.source})"
    published = warning.entry.metadata.published
    dated = f", {published.isoformat()}" if published else ""
    return links.marked(f"{warning.entry.title}, version {warning.entry.version}{dated}", warning.entry.id)


def _source(warning: OrderWarning, links: Links) -> dict[str, Any]:
    label = _source_label(warning, links)
    if warning.entry is None:
        return {"source": {"label": label}}
    url = links.best(warning.entry.id)
    link = {"label": f"Open {shortened(warning.entry.title, 80)}", "url": url, "type": "absolute"}
    return {"source": {"label": label, "url": url}, "links": [link]}


def escaped(text: str) -> str:
    r"""A text as Markdown shows it: nothing in a document becomes a link, an image or markup.

    >>> escaped("give *1* ml <b>")
    'give \\*1\\* ml \\<b\\>'
    """
    return _MARKDOWN.sub(r"\\\1", text.replace("\n", " "))


# -------------------------------------------------------------------------------------------------------------- record


def _kept(site: ServerState, visitor: Visitor, question: str, part: Mapping[str, Any]) -> str:
    """The id of a record of its own in the log: who was given which cards, or says what became of one."""
    asker, library, answer_id = whole_asker(visitor), site.app.library, str(uuid.uuid4())
    at = {"stamp": library.stamp(), "is_settled": True, "embedder": library.embedder()}
    words: dict[str, Any] = {
        "ended": "answered",
        "question": question,
        "history": [],
        "asker": {"user_id": asker.user_id, "role": asker.role.value},
        "scope": scope_json(asker.scope),
        "library": {**at, "documents": 0, "generations": "", "digest": digest(())},
        "setup": {"citewell": __version__, "assistant": "cds-hooks", "writer": {"name": "rules"}},
        "evidence": [],
        "claims": [],
        "answer": None,
        **part,
    }
    kept = KeptOutcome(answer_id, question, asker, place=None, words=words, text=None, route=None)
    site.ask_service().ledger.keep(kept)
    return answer_id


def _warning_record(warning: OrderWarning, card: str) -> dict[str, Any]:
    """A warning as a record holds it; its words go when their document is erased."""
    conflict, entry = warning.conflict, warning.entry
    told = {"kind": conflict.kind, "medicine": conflict.medicine, "is_grave": conflict.is_grave, "card": card}
    return {**told, "quote": conflict.text, "document_id": None if entry is None else entry.id}


def _keep_feedback(site: ServerState, visitor: Visitor, service: str, card: CardFeedback) -> None:
    part = {"service": service, "kept_at": datetime.now(UTC).isoformat(), **card.model_dump(mode="json")}
    _kept(site, visitor, f"Feedback on card {card.card}: {card.outcome}", {FEEDBACK: part})
