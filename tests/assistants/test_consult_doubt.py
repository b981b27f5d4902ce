"""What was contradicted, missing or left for days when a plan was written: said plainly in every view of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.parsers.pdf import PdfParser
from citewell.app import App
from citewell.assistants.consult.gather import ApplicablePassage, describe, gather
from citewell.assistants.consult.paragraph_start import CUT
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.service import ConsultService
from citewell.assistants.consult.summary import record_of
from citewell.assistants.consult.view import turn_json
from citewell.consult_export import exported
from citewell.errors import InputError
from citewell.types import ParseLimits, Source, User
from tests.assistants.consult_library import ADA, with_guidelines

pytestmark = pytest.mark.slow

STORY = "30-year-old woman with cough and fever for 4 days, temp 38.4, weighs 60 kg. Takes no medicines."
PREGNANT = "Both “pregnant” and “not pregnant” were recorded. Which is right?"
PENICILLIN = "Both “no known allergies” and an allergy (penicillin) were recorded. Which is right?"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    with with_guidelines(tmp_path_factory.mktemp("doubts"), embedder) as made:
        yield made


@pytest.fixture
def service(app: App) -> ConsultService:
    return app.consult.service


@pytest.fixture
def asker(app: App) -> User:
    return User.owner(app.scope_of_owner())


def told(service: ConsultService, asker: User, *messages: str) -> str:
    consult_id = service.start(asker).consult.id
    for text in (STORY, *messages):
        service.say(consult_id, text, asker)
    service.acknowledge(consult_id, asker)
    return consult_id


def contradicted(service: ConsultService, asker: User) -> str:
    return told(service, asker, "Allergic to penicillin. She is not pregnant.", "No known allergies. 9 weeks pregnant.")


def views(service: ConsultService, consult_id: str, asker: User) -> dict[str, str]:
    """The words of every view of a consult beside its page."""
    turn = service.look(consult_id, asker)
    data = exported(turn, "pdf")
    pdf = PdfParser().parse(Source(data, "note.pdf"), media_type="application/pdf", limits=ParseLimits())
    bundle = json.loads(exported(turn, "json"))
    by_kind = {one["resource"]["resourceType"]: one["resource"] for one in bundle["entry"]}
    return {
        "api": json.dumps(turn_json(turn), ensure_ascii=False),
        "text": exported(turn, "txt").decode(),
        "pdf": " ".join(pdf.text.split()),
        "composition": json.dumps(by_kind["Composition"], ensure_ascii=False),
        "care plan": json.dumps(by_kind["CarePlan"]["note"], ensure_ascii=False),
    }


def test_a_plan_written_before_a_contradiction_is_settled_says_so_in_every_view(
    service: ConsultService, asker: User
) -> None:
    consult_id = contradicted(service, asker)
    service.differentials(consult_id, [("Pneumonia", "high")], asker, despite="she is very ill")
    service.assess(consult_id, asker)
    for draft in (True, False):
        if not draft:
            service.sign(consult_id, ADA, asker)
        for name, words in views(service, consult_id, asker).items():
            plain = words.replace("&quot;", '"')
            assert f"Unresolved when this was written: {PREGNANT}" in plain, name
            assert f"Unresolved when this was written: {PENICILLIN}" in plain, name
            assert "The plan was drafted without this. Reason given: she is very ill." in plain, name
            assert "No known allergies" not in plain.partition("messages")[0] or name == "api", name


def test_the_resources_of_a_document_say_which_of_them_is_in_doubt(service: ConsultService, asker: User) -> None:
    consult_id = contradicted(service, asker)
    bundle = json.loads(exported(service.look(consult_id, asker), "json"))
    resources = [one["resource"] for one in bundle["entry"]]
    notes = {
        (one["resourceType"], one["code"]["text"]): [note["text"] for note in one.get("note", ())]
        for one in resources
        if "code" in one
    }
    assert notes["AllergyIntolerance", "penicillin"] == [f"Unresolved: {PENICILLIN}"]
    assert ("AllergyIntolerance", "No known allergies") not in notes, "nobody reads it beside an allergy as a fact"
    assert notes["Observation", "pregnant"] == [f"Unresolved: {PREGNANT}"]
    assert not any("Unresolved" in text for text in notes["Observation", "Cough"])


def test_a_sex_that_is_contradicted_is_not_written_as_a_gender(service: ConsultService, asker: User) -> None:
    consult_id = told(service, asker, "The patient is a man.")
    (pair,) = service.look(consult_id, asker).consult.contradictions
    assert pair.question == "Both “female” and “male” were recorded. Which is right?"
    bundle = json.loads(exported(service.look(consult_id, asker), "json"))
    assert [one["resource"] for one in bundle["entry"] if one["resource"].get("gender")] == []


def test_what_is_contradicted_is_no_fact_and_speaks_for_nothing(service: ConsultService, asker: User) -> None:
    consult_id = told(service, asker, "She has no fever. Allergic to penicillin. No known allergies. Not pregnant.")
    turn = service.differentials(consult_id, [("Malaria", "high")], asker, despite="a test")
    consult = turn.consult
    assert {one.question for one in consult.contradictions} == {
        "Both “Fever” and “no Fever” were recorded. Which is right?",
        PENICILLIN,
    }
    summary = turn_json(turn)["summary"]
    assert summary.startswith("Woman aged 30 with cough")
    assert summary.endswith("Unresolved: fever, allergy to penicillin.")
    assert "Denied" not in summary
    assert "No known allergies" not in summary
    spoken = {said.name for one in consult.differentials for said in (*one.supports, *one.opposes)}
    assert "Fever" not in spoken
    assert "fever" not in describe(consult.settled, patient_of(consult)).lower()
    assert not any("fever" in line.lower() for line in record_of(consult.settled, patient_of(consult)))


@pytest.mark.parametrize(
    ("messages", "medicine", "against"),
    [
        (
            ("She is not pregnant.", "She is 9 weeks pregnant."),
            "doxycycline",
            "is pregnant (contradictory information)",
        ),
        (("Allergic to penicillin.", "No known allergies."), "amoxicillin", "penicillin (contradictory information)"),
        (("No known allergies.",), "doxycycline", "it is not known whether the patient is pregnant"),
    ],
)
def test_a_medicine_is_held_against_either_of_two_answers_and_against_none(
    service: ConsultService, asker: User, messages: tuple[str, ...], medicine: str, against: str
) -> None:
    consult_id = told(service, asker, *messages)
    service.differentials(consult_id, [("Pneumonia", "high")], asker, despite="a test")
    plan: Any = service.assess(consult_id, asker).consult.plan
    found = plan["diagnoses"][0]
    (statement,) = [one for one in (*found["offered"], *found["held_back"]) if medicine in one["text"].lower()][:1]
    assert any(against in one["text"] for one in statement["conflicts"]), statement["conflicts"]
    is_known = "contradictory information" in against
    assert (statement in found["held_back"]) is is_known
    assert bool(statement["doses"]) is False


def test_a_red_flag_stands_for_either_of_two_answers_and_says_that_it_is_not_settled(
    service: ConsultService, asker: User
) -> None:
    consult_id = service.start(asker).consult.id
    service.say(consult_id, f"{STORY} She is not pregnant.", asker)
    turn = service.say(consult_id, "9 weeks pregnant.", asker)
    (flag,) = [one for one in turn.flags if one.id == "fever-pregnancy"]
    assert flag.why.endswith("It is not yet clear whether this applies to the patient.")


def test_differentials_wait_for_a_contradiction_and_no_blank_is_a_reason(service: ConsultService, asker: User) -> None:
    consult_id = contradicted(service, asker)
    for reason in (None, "", "  \n"):
        with pytest.raises(InputError, match="Resolve this before differentials: ") as refused:
            service.differentials(consult_id, [("Pneumonia", "high")], asker, despite=reason)
        assert PREGNANT in str(refused.value)
        assert PENICILLIN in str(refused.value)
        assert "--despite" in str(refused.value)
    assert service.look(consult_id, asker).consult.differentials == ()


def test_what_is_contradicted_after_the_differentials_is_asked_about_before_the_signature(
    service: ConsultService, asker: User
) -> None:
    consult_id = told(service, asker, "Not pregnant. No known allergies.")
    service.differentials(consult_id, [("Pneumonia", "high")], asker)
    service.say(consult_id, "She is allergic to penicillin.", asker)
    service.assess(consult_id, asker)
    with pytest.raises(InputError, match="Resolve this before signing: Both “no known allergies”"):
        service.sign(consult_id, ADA, asker)
    turn = service.sign(consult_id, ADA, asker, despite="the ward will ask")
    assert turn.consult.signed_though == "Signed despite an unresolved contradiction. Reason given: the ward will ask"
    for name, words in views(service, consult_id, asker).items():
        assert "the ward will ask" in words, name


def test_a_signed_plan_with_a_contradiction_comes_out_the_same_again(
    app: App, service: ConsultService, asker: User
) -> None:
    consult_id = contradicted(service, asker)
    service.differentials(consult_id, [("Pneumonia", "high")], asker, despite="a test")
    service.assess(consult_id, asker)
    signed = service.sign(consult_id, ADA, asker).consult
    replay = app.replay(signed.answer_id or "", asker=asker)
    assert [one.kind for one in replay.changes if one.kind != "same"] == []
    assert replay.text_now == replay.text_then


def test_what_was_missing_is_named_in_the_plan(service: ConsultService, asker: User) -> None:
    consult_id = told(service, asker)
    service.differentials(consult_id, [("Pneumonia", "high")], asker, despite="the bus leaves")
    plan: Any = service.assess(consult_id, asker).consult.plan
    assert plan["notes"] == (
        [
            "Not known when this was written: Is she pregnant, and if so how many weeks? Is the patient allergic to "
            "anything? Say “no known allergies” if not.",
            "The plan was drafted without this. Reason given: the bus leaves.",
        ]
    )


@pytest.mark.parametrize("step", ["look", "differentials", "correct", "assess", "sign"])
def test_a_consult_left_for_a_week_says_so_whatever_is_done_next(
    service: ConsultService, asker: User, step: str
) -> None:
    old = replace(service, clock=lambda: datetime.now(UTC) - timedelta(days=8))
    consult_id = told(old, asker, "Not pregnant. No known allergies.")
    if step in ("assess", "sign"):
        old.differentials(consult_id, [("Pneumonia", "high")], asker)
    if step == "sign":
        old.assess(consult_id, asker)
    before = old.look(consult_id, asker).consult
    if step == "differentials":
        service.differentials(consult_id, [("Pneumonia", "high")], asker)
    elif step == "correct":
        service.correct(consult_id, before.findings[-1].id, {"polarity": "absent"}, asker)
    elif step == "assess":
        service.assess(consult_id, asker)
    elif step == "sign":
        service.sign(consult_id, ADA, asker)
    after = service.look(consult_id, asker).consult
    assert [one for one in after.notes if "left open for 8 days" in one] == list(after.notes) != []
    assert len(after.notes) == 1
    assert len(after.messages) >= len(before.messages)
    if step == "sign":
        assert all("left open for 8 days" in words for words in views(service, consult_id, asker).values())


def test_a_denial_is_no_answer_to_how_bad_it_is_and_what_is_settled_keeps_its_time(
    service: ConsultService, asker: User
) -> None:
    consult_id = service.start(asker).consult.id
    asked = service.say(consult_id, "45 year old man, chest pain for 2 hours", asker).question
    assert asked is not None
    assert asked.key == "severity"
    denied = service.say(consult_id, "No chest pain", asker)
    assert [one for one in denied.consult.findings if one.category.value == "severity"] == []
    settled = service.say(consult_id, "I do have chest pain", asker).consult
    (pain,) = [one for one in settled.findings if one.name == "Chest pain"]
    assert (pain.polarity.value, pain.duration_days) == ("present", pytest.approx(2 / 24, abs=1e-3))
    assert settled.contradictions == ()


def test_who_says_again_that_she_is_pregnant_loses_no_weeks(service: ConsultService, asker: User) -> None:
    consult_id = service.start(asker).consult.id
    service.say(consult_id, "28 year old woman, not pregnant, fever for 3 days", asker)
    assert service.say(consult_id, "She is pregnant, 9 weeks.", asker).consult.contradictions != ()
    settled = service.say(consult_id, "She is pregnant", asker).consult
    assert settled.contradictions == ()
    assert (patient_of(settled).is_pregnant, patient_of(settled).pregnancy_weeks) == (True, 9)


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ("His pulse is 98.", []),
        ("Allergic to penicillin.", []),
        ("Quite bad, he stays in bed", ["Quite bad, he stays in bed"]),
    ],
)
def test_what_is_said_of_the_patient_is_no_answer_to_how_bad_it_is(
    said: str, severity: list[str], service: ConsultService, asker: User
) -> None:
    consult_id = service.start(asker).consult.id
    asked = service.say(consult_id, "45 year old man, chest pain for 2 hours", asker).question
    assert asked is not None
    assert asked.key == "severity"
    after = service.say(consult_id, said, asker).consult
    assert [one.name for one in after.findings if one.category.value == "severity"] == severity


def test_a_dose_whose_paragraph_may_begin_before_the_passage_says_so(
    service: ConsultService, asker: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def headless(one: ApplicablePassage) -> ApplicablePassage:
        at = one.hit.text.rfind("\n\n") + 2
        start, text = one.hit.start + at, one.hit.text[at:]
        near = tuple(two for two in one.hit.why.near if two[0] >= start)
        why = replace(one.hit.why, near=near)
        return replace(one, hit=replace(one.hit, start=start, text=text, why=why), is_whole=False)

    def cut(*asked: Any, **how: Any) -> Any:
        found, alone = gather(*asked, **how)
        return [replace(one, passages=tuple(map(headless, one.passages))) for one in found], alone

    consult_id = told(service, asker, "Not pregnant. No known allergies.")
    service.differentials(consult_id, [("Malaria", "high")], asker, despite="a test")
    for is_cut in (False, True):
        if is_cut:
            monkeypatch.setattr("citewell.assistants.consult.plan_evidence.gather", cut)
        plan: Any = service.assess(consult_id, asker).consult.plan
        offered = plan["diagnoses"][0]["offered"]
        doubted = [one["text"] for one in offered if CUT in one["reservations"]]
        assert bool(doubted) is is_cut
        assert all(" mg" in text for text in doubted)


def test_half_a_character_is_refused_at_the_door_since_it_could_never_be_shown_again(
    service: ConsultService, asker: User
) -> None:
    consult_id = told(service, asker)
    before = service.look(consult_id, asker).consult
    with pytest.raises(InputError, match="invalid characters"):
        service.say(consult_id, "fever \udcff since Monday", asker)
    with pytest.raises(InputError, match="invalid characters"):
        service.differentials(consult_id, [("Pneumonia\udcff", "high")], asker, despite="a test")
    assert service.look(consult_id, asker).consult == before


RINGSPOT = """# Ringspot fever

ISBN 978-92-4-000000-0. © A Health Ministry 2025. Some rights reserved. If you adapt the work on ringspot fever, you \
must license your work under the same licence, and you should add the suggested citation.

## Treatment of ringspot fever

People with ringspot fever should rest.

Children: For children with ringspot fever up to 14 years of age 8 mg paracetamol per kg can be given. A dose of \
10 mg/kg body weight is suggested for fever in ringspot fever. It should be given 4 times daily, 40 mg/kg in all.

Adults: Give paracetamol 1 g every 6 hours for ringspot fever. Doses of 500 mg are enough for mild ringspot fever.

The usual dose is 20 mg/kg for ringspot fever that does not settle.
"""


@pytest.mark.parametrize(
    ("age", "own_and_other"), [("7-year-old", ("10 mg/kg", "1 g")), ("40-year-old", ("1 g", "10 mg/kg"))]
)
def test_a_dose_is_read_with_the_words_that_say_of_what_and_for_whom_it_is(
    app: App, service: ConsultService, asker: User, age: str, own_and_other: tuple[str, str]
) -> None:
    own, other = own_and_other
    added = app.add_source(Source(RINGSPOT.encode(), "ringspot.md"))
    try:
        consult_id = service.start(asker).consult.id
        service.say(consult_id, f"{age} boy, fever for 2 days, temp 39, 20 kg. No medicines. No allergies.", asker)
        service.say(consult_id, "Yes, that is right.", asker)
        service.acknowledge(consult_id, asker)
        service.differentials(consult_id, [("Ringspot fever", "high")], asker, despite="a test")
        plan: Any = service.assess(consult_id, asker).consult.plan
    finally:
        app.delete(added.entry.id)
    (found,) = plan["diagnoses"]
    offered = [one["text"] for one in found["offered"]]
    assert any(own in text for text in offered), json.dumps(found)
    assert not any(other in text for text in offered)
    assert all("paracetamol" in text for text in offered if " mg" in text), "each dose with the medicine it is of"
    reasons = {one["words"]: one["reason"] for one in found["left_out"]}
    nameless = "The usual dose is 20 mg/kg for ringspot fever that does not settle."
    assert reasons[nameless].startswith("it names no medicine")
    assert not any("license" in text for text in offered), "an imprint advises nothing"
