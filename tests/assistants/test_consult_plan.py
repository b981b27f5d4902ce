"""Plans: only what applies, every dose from cited words, every planted conflict caught, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.adapters.parsers.pdf import PdfParser
from citewell.answer.replay import EMBEDDED_ANEW
from citewell.app import App, build
from citewell.assistants.consult.applicability import applicability_of
from citewell.assistants.consult.gather import gather
from citewell.assistants.consult.notebook import InterviewStep
from citewell.assistants.consult.patient import patient_of
from citewell.assistants.consult.replay_events import fold
from citewell.assistants.consult.service import ConsultService
from citewell.assistants.consult.weight_based_doses import AMOUNTS
from citewell.clinical.quantities import quantities
from citewell.config import Settings
from citewell.consult_export import exported
from citewell.errors import ChangedMeanwhile, InputError, LibraryError, NotFound
from citewell.types import Filing, ParseLimits, Source, User
from citewell.types.consult import Category, ConsultState, Finding, FindingSource, Patient, Polarity
from citewell.types.literature import Notice
from citewell.web.consult import plan_of
from tests.assistants.consult_library import ADA, with_guidelines

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
STORY = (
    "28-year-old woman, 9 weeks pregnant, fever for 3 days with rigors, no cough. Temp 38.5, weighs 130 lb. "
    "No known allergies. Takes no medication."
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    with with_guidelines(tmp_path_factory.mktemp("plans"), embedder) as made:
        yield made


@pytest.fixture
def service(app: App) -> ConsultService:
    return app.consult.service


@pytest.fixture
def asker(app: App) -> User:
    return User.owner(app.scope_of_owner())


def ready(service: ConsultService, asker: User, story: str, *conditions: str) -> str:
    """A consult with its differentials, red flags acknowledged."""
    consult_id = service.start(asker).consult.id
    service.say(consult_id, story, asker)
    service.acknowledge(consult_id, asker)
    service.differentials(consult_id, [(one, "high") for one in conditions], asker, despite="a test")
    return consult_id


def planned(service: ConsultService, asker: User, story: str, *conditions: str) -> Any:
    return service.assess(ready(service, asker, story, *conditions), asker).consult.plan


def cases() -> list[tuple[str, ...]]:
    lines = (HERE / "consult_plans.tsv").read_text("utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("case", cases(), ids=lambda case: case[0][:40])
def test_every_planted_conflict_is_caught_and_no_dose_is_offered_that_is_not_for_this_patient(
    service: ConsultService, asker: User, app: App, case: tuple[str, ...]
) -> None:
    story, condition, planted, offered, never = case
    consult_id = ready(service, asker, story, condition)
    turn = service.assess(consult_id, asker)
    plan: Any = turn.consult.plan
    diagnosis = plan["diagnoses"][0]
    shown = " ".join(one["text"] for one in diagnosis["offered"])
    statements = [*diagnosis["offered"], *diagnosis["held_back"]]
    caught = {f"{told['medicine']}:{told['kind']}" for one in statements for told in one["conflicts"]}
    assert planted == "-" or set(planted.split("|")) <= caught, caught
    assert offered == "-" or offered in shown, shown
    assert not [words for words in never.split("|") if words in shown]
    patient = patient_of(turn.consult)
    for one in diagnosis["offered"]:
        place = one["place"]
        text = app.show(place["document_id"])[1].text
        assert text[place["start"] : place["end"]] == place["quote"]
        cited = {found.values for found in quantities(place["quote"]) if found.dimension.partition("/")[0] in AMOUNTS}
        told = {found.values for found in quantities(one["text"]) if found.dimension.partition("/")[0] in AMOUNTS}
        assert told <= cited
        assert applicability_of(place["section"], place["quote"], patient).applies
        assert all(dose["words"] in place["quote"] for dose in one["doses"])


def test_there_are_twenty_cases_with_conflicts_in_most() -> None:
    assert len(cases()) == 20
    assert sum(case[2] != "-" for case in cases()) >= 15


def test_a_dose_by_weight_shows_its_arithmetic_and_its_maximum(service: ConsultService, asker: User) -> None:
    plan = planned(service, asker, "A boy aged 3, weight 13 kg, fever for 2 days.", "Malaria")
    told = [dose["arithmetic"] for one in plan["diagnoses"][0]["offered"] for dose in one["doses"]]
    assert "15 mg/kg × 13 kg = 195 mg (the stated maximum is 1 g)" in told
    plan = planned(service, asker, "A man aged 30, weight 90 kg, fever for 2 days.", "Malaria")
    told = [dose["amount"] for one in plan["diagnoses"][0]["offered"] for dose in one["doses"]]
    assert "1 g (the stated maximum)" in told
    plan = planned(service, asker, "A man aged 30, fever for 2 days.", "Malaria")
    told = [dose["arithmetic"] for one in plan["diagnoses"][0]["offered"] for dose in one["doses"]]
    assert told
    assert set(told) == {"The weight is needed to calculate this dose but is not known."}


def test_a_line_of_a_retracted_document_says_so(service: ConsultService, asker: User, app: App) -> None:
    entry = next(entry for entry in app.entries() if entry.title.startswith("Ghana"))
    app.literature.note(entry.tenant, entry.lineage, [Notice("retraction")])
    try:
        plan = planned(service, asker, "A man aged 30, fever for 2 days.", "Malaria")
    finally:
        app.literature.note(entry.tenant, entry.lineage, [])
    lines = [one for diagnosis in plan["diagnoses"] for one in (*diagnosis["offered"], *diagnosis["held_back"])]
    told = {one["place"]["document"]: one["reservations"][:1] for one in lines}
    assert told[entry.title] == [f"“{entry.title}” has been retracted"]
    assert len(told) > 1
    assert all("retracted" not in str(said) for title, said in told.items() if title != entry.title)


def test_sources_that_differ_stand_side_by_side_and_what_does_not_apply_says_why(
    service: ConsultService, asker: User
) -> None:
    plan = planned(service, asker, STORY, "Malaria", "A disease without any guideline")
    malaria, unknown = plan["diagnoses"]
    assert ("quinine", "the sources give different doses") in {
        (one["about"], one["why"]) for one in malaria["disagreements"]
    }
    assert {one["place"]["country"] for one in malaria["offered"]} >= {None, "Ghana"}
    turn = next(service.look(one.id, asker) for one, _ in service.all(asker))
    beside = "no date, Ghana): Give quinine 8 mg/kg"
    assert "Sources differ on quinine: the sources give different doses" in (text := exported(turn, "txt").decode())
    assert beside in text
    notes = " ".join(one["text"] for one in _resource(exported(turn, "json"), "CarePlan")["note"])
    assert "Sources differ on quinine: the sources give different doses." in notes
    assert "; no date, Ghana)" in notes
    assert any("the patient is 28" in one["reason"] for one in malaria["left_out"])
    strong = next(one for one in malaria["offered"] if "against primaquine" in one["text"])
    assert (strong["strength"], strong["certainty"]) == ("strong", "high")
    assert (unknown["is_found"], unknown["offered"]) == (False, [])
    assert "No guideline found" in unknown["said"]


def test_the_section_for_this_patient_comes_first(service: ConsultService, asker: User, app: App) -> None:
    consult = service.look(ready(service, asker, STORY, "Malaria"), asker).consult
    search = app.consult.parts(asker).search
    found, alone = gather(["Malaria"], consult.findings, patient_of(consult), scope=asker.scope, search=search)
    assert found[0].passages[0].hit.section[-1] == "Treatment in pregnancy"
    assert all(one.relevance >= 0.5 for one in found[0].passages)
    assert len(found[0].passages) <= 5
    assert alone


def test_what_holds_for_two_diagnoses_is_said_once_and_referred_to(service: ConsultService, asker: User) -> None:
    consult_id = ready(service, asker, STORY, "Malaria", "Uncomplicated malaria")
    turn = service.assess(consult_id, asker)
    assert turn.consult.plan is not None
    first, second = turn.consult.plan["diagnoses"]
    said = {f"1.{one['id']}": one["text"] for one in (*first["offered"], *first["held_back"])}
    assert second["is_found"]
    assert second["shared"]
    assert set(second["shared"]) <= set(said)
    assert not {one["text"] for one in second["offered"]} & set(said.values())
    assert f"See also above: {second['shared'][0]}" in exported(turn, "txt").decode()
    notes = [one["text"] for one in _resource(exported(turn, "json"), "CarePlan")["note"]]
    assert any("Uncomplicated malaria, see also above" in note for note in notes)


def _resource(document: bytes, kind: str) -> dict[str, Any]:
    found = [one["resource"] for one in json.loads(document)["entry"] if one["resource"]["resourceType"] == kind]
    return dict(found[0])


def test_what_the_findings_alone_point_at_shows_a_diagnosis_that_was_missed(
    service: ConsultService, asker: User
) -> None:
    (lead,) = planned(service, asker, STORY, "Influenza")["leads"]
    assert (lead["section"][-1], lead["names"]) == ("Diagnosis", ["Fever", "Rigors"])
    assert lead["quote"].startswith("Malaria should be suspected in anyone with fever, rigors")


# ----------------------------------------------------------------------------------------------------------- the gates


def test_red_flags_and_what_is_missing_stand_before_the_differentials(service: ConsultService, asker: User) -> None:
    consult_id = service.start(asker).consult.id
    service.say(consult_id, "Chest pain going to the left arm, sweating.", asker)
    with pytest.raises(InputError, match="heart attack"):
        service.differentials(consult_id, [("Angina", "high")], asker)
    service.acknowledge(consult_id, asker)
    with pytest.raises(InputError, match="How old is the patient"):
        service.differentials(consult_id, [("Angina", "high")], asker)
    turn = service.differentials(consult_id, [("Angina", "high")], asker, despite="ambulance is here")
    assert (turn.consult.state, turn.consult.despite) == (ConsultState.DIFFERENTIALS_READY, "ambulance is here")
    turn = service.differentials(consult_id, [("Angina", "low"), ("Reflux", "moderate")], asker)
    assert [(one.condition, one.confidence) for one in turn.consult.differentials] == [
        ("Reflux", "moderate"),
        ("Angina", "low"),
    ]
    turn = service.differentials(consult_id, [], asker, removed=["Reflux"])
    assert [one.condition for one in turn.consult.differentials] == ["Angina"]
    with pytest.raises(InputError, match="No model is set"):
        service.differentials(consult_id, [], asker, is_generated=True)


def test_what_is_missing_names_the_way_to_go_on_without_it(service: ConsultService, asker: User) -> None:
    consult_id = service.start(asker).consult.id
    service.say(consult_id, "A 40-year-old man with a cough for 2 days.", asker)
    with pytest.raises(InputError, match=r"“Reason for going ahead” on the page, --despite"):
        service.differentials(consult_id, [("Malaria", "high")], asker)


def test_findings_speak_for_and_against_in_the_words_of_the_guidelines(service: ConsultService, asker: User) -> None:
    told = "30-year-old man, fever for 2 days, no headache, weight 70 kg. No allergies. No medicines."
    consult = service.look(ready(service, asker, told, "Malaria"), asker).consult
    malaria = consult.differentials[0]
    assert [one.name for one in malaria.supports] == ["Fever"]
    assert [one.name for one in malaria.opposes] == ["Headache"]
    assert "Malaria should be suspected" in (malaria.opposes[0].quote or "")


def test_an_assessment_that_fails_is_kept_as_failed_and_can_be_tried_again(
    service: ConsultService, asker: User
) -> None:
    consult_id = ready(service, asker, STORY, "Malaria")

    def broken(_asker: User) -> Any:
        raise LibraryError("The library cannot be read just now.")

    with pytest.raises(LibraryError):
        replace(service, parts=broken).assess(consult_id, asker)
    failed = service.look(consult_id, asker).consult
    assert (failed.state, failed.failure) == (ConsultState.FAILED, "The library cannot be read just now.")
    assert failed.findings
    assert service.assess(consult_id, asker).consult.state is ConsultState.DRAFT


def test_another_finding_after_the_plan_makes_the_draft_old(service: ConsultService, asker: User) -> None:
    consult_id = ready(service, asker, STORY, "Malaria")
    service.assess(consult_id, asker)
    with pytest.raises(NotFound):
        service.edit(consult_id, "9.9", "x", asker)
    turn = service.say(consult_id, "She is allergic to quinine.", asker)
    assert (turn.consult.state, turn.consult.plan) == (ConsultState.DIFFERENTIALS_READY, None)
    with pytest.raises(InputError, match="Only a draft"):
        service.sign(consult_id, ADA, asker)


def test_two_windows_do_not_overwrite_each_other(service: ConsultService, asker: User) -> None:
    consult = service.start(asker).consult
    service.say(consult.id, "Cough.", asker)
    with pytest.raises(ChangedMeanwhile, match="another window"):
        service.consults.append(consult.id, [], after=consult.length, state="interviewing", asker=asker)


def test_a_consult_left_open_for_a_week_says_so_and_loses_nothing(service: ConsultService, asker: User) -> None:
    week_ago = replace(service, clock=lambda: datetime.now(UTC) - timedelta(days=8))
    consult_id = week_ago.start(asker).consult.id
    week_ago.say(consult_id, STORY, asker)
    turn = service.say(consult_id, "Now also a headache.", asker)
    assert "left open for 8 days" in turn.consult.notes[0]
    assert {"Fever", "Headache"} <= {one.name for one in turn.consult.findings}


def test_an_empty_library_gives_no_advice_and_says_so(tmp_path: Path, embedder: MiniLM) -> None:
    with build(Settings(home=tmp_path / "home")) as app:
        app.__dict__["embedder"] = embedder
        asker = User.owner(app.scope_of_owner())
        plan = planned(app.consult.service, asker, STORY, "Malaria")
        assert "No guideline found for Malaria" in plan["diagnoses"][0]["said"]
        assert plan["diagnoses"][0]["offered"] == []
        assert any("You do not have access to any guidelines" in note for note in plan["notes"])


# --------------------------------------------------------------------------------------------- signing and exporting


def signed(service: ConsultService, asker: User) -> InterviewStep:
    consult_id = ready(service, asker, STORY, "Malaria", "Acute otitis media")
    service.assess(consult_id, asker)
    edited = service.edit(consult_id, "1.1", "Give doxycycline 100 mg today.", asker).consult.edits[-1]
    assert "the patient is pregnant" in str(edited["conflicts"])
    service.edit(consult_id, "1.1", "Start treatment today.", asker, why="discussed")
    return service.sign(consult_id, ADA, asker)


def test_a_signed_plan_cannot_be_changed_and_comes_out_the_same_from_the_audit_log(
    service: ConsultService, asker: User, app: App
) -> None:
    consult = signed(service, asker).consult
    assert consult.answer_id is not None
    for change in (
        lambda: service.say(consult.id, "more", asker),
        lambda: service.edit(consult.id, "1.1", "x", asker),
        lambda: service.consults.append(consult.id, [], after=consult.length, state="draft", asker=asker),
    ):
        with pytest.raises(InputError, match="signed"):
            change()
    assert fold(service.history(consult.id, asker)) == consult
    record = app.ask_service.audit.read(consult.answer_id, asker)
    assert record.words["consult"]["plan"] == json.loads(json.dumps(consult.plan))
    again = app.replay(consult.answer_id, asker=asker)
    assert again.is_same
    assert app.ask_service.audit.verify_chain("local").problems == ()


def test_a_signed_plan_comes_out_the_same_after_everything_was_embedded_anew(
    service: ConsultService, asker: User, app: App
) -> None:
    answer_id = signed(service, asker).consult.answer_id
    assert answer_id is not None
    app.reindex()
    again = app.replay(answer_id, asker=asker)
    assert (again.is_same, again.notes) == (True, (EMBEDDED_ANEW,))


def test_a_consult_is_exported_as_a_fhir_document_a_pdf_and_text(service: ConsultService, asker: User) -> None:
    turn = signed(service, asker)
    bundle = json.loads(exported(turn, "json"))
    resources = [one["resource"] for one in bundle["entry"]]
    assert (bundle["type"], resources[0]["resourceType"], resources[0]["status"]) == (
        "document",
        "Composition",
        "final",
    )
    kinds = {one["resourceType"] for one in resources}
    assert {"Patient", "Practitioner", "Condition", "CarePlan", "Observation"} <= kinds
    urls = {one["fullUrl"] for one in bundle["entry"]}
    assert len(urls) == len(bundle["entry"])
    assert {one.split('"')[0] for one in json.dumps(resources).split('"reference": "')[1:]} <= urls
    plan = next(one for one in resources if one["resourceType"] == "CarePlan")
    assert plan["activity"][0]["detail"]["description"] == "Start treatment today."
    own, *quoted = [one["progress"][0]["text"] for one in plan["activity"]]
    assert own.startswith("Clinician's own wording (discussed), replacing: ")
    assert quoted
    assert all(text.startswith("Source: ") for text in quoted)
    text = exported(turn, "txt").decode()
    assert "Signed by Dr Ada" in text
    assert "clinician's own wording, not the source's: discussed" in text
    pdf = PdfParser().parse(
        Source(exported(turn, "pdf"), "note.pdf"), media_type="application/pdf", limits=ParseLimits()
    )
    assert "Start treatment today." in " ".join(pdf.text.split())
    with pytest.raises(InputError, match="exported as"):
        exported(turn, "docx")


def test_what_speaks_against_the_clinicians_own_words_stands_in_every_view_and_is_asked_about_at_the_signature(
    service: ConsultService, asker: User
) -> None:
    story = "35-year-old man, fever and rigors for 3 days, 70 kg. No medicines. Allergic to ramipril."
    consult_id = ready(service, asker, story, "Malaria")
    service.assess(consult_id, asker)
    edited = service.edit(consult_id, "1.1", "Start ramipril 2.5 mg once daily.", asker)
    told = "The patient is allergic to ramipril."
    shown = plan_of(edited.consult)[0]["parts"][0][1][0]
    assert shown.conflicts == ((told, "record", True),)
    assert (shown.doses, shown.grade, shown.source_text is not None) == ((), "", True)
    with pytest.raises(InputError, match=r"1\.1: The patient is allergic to ramipril\..*--despite"):
        service.sign(consult_id, ADA, asker)
    turn = service.sign(consult_id, ADA, asker, despite="allergy refuted by challenge")
    bundle = json.loads(exported(turn, "json"))
    plan = next(one["resource"] for one in bundle["entry"] if one["resource"]["resourceType"] == "CarePlan")
    own = next(one for one in plan["activity"] if "ramipril" in one["detail"]["description"])
    assert own["progress"][0]["text"] == f"Warning: {told}"
    assert not any(one["text"].startswith("Source: ") for one in own["progress"])
    notes = " ".join(one["text"] for one in plan["note"])
    assert told in notes
    assert "allergy refuted by challenge" in notes
    text = exported(turn, "txt").decode()
    assert told in text
    assert "Reason given: allergy refuted by challenge" in text


RINGSPOT = (
    "# Ringspot fever\n\n## Ringspot fever in adults\n\n"
    "We recommend against the use of NSAIDs in people with ringspot fever. "
    "Give oral fluids to people with ringspot fever."
)


def test_own_words_that_give_what_the_plan_advises_against_are_asked_about(
    app: App, service: ConsultService, asker: User
) -> None:
    added = app.add_source(Source(RINGSPOT.encode(), "ringspot.md"))
    story = "A 30-year-old man with fever for 2 days. No medicines. No allergies."
    try:
        consult_id = ready(service, asker, story, "Ringspot fever")
        plan: Any = service.assess(consult_id, asker).consult.plan
        texts = [one["text"] for one in plan["diagnoses"][0]["offered"]]
        fluids = next(at for at, text in enumerate(texts, 1) if "oral fluids" in text)
        service.edit(consult_id, f"1.{fluids}", "Give ibuprofen 400 mg three times a day.", asker)
    finally:
        app.delete(added.entry.id)
    with pytest.raises(InputError, match="The plan quotes advice against it: “We recommend against"):
        service.sign(consult_id, ADA, asker)


TOPICS = ("Pain", "Transfusion", "Birth", "Scans of the baby", "Fluids", "Oxygen", "Rest and warmth", "Leg ulcers")
SICKLE = (
    "# Sickle-cell disease in pregnancy\n\n## Folic acid and tularaemia\n\n"
    "Tularaemia: advise pregnant women with sickle-cell disease outside tularaemia areas to take 5 mg folic acid.\n\n"
) + "\n\n".join(
    f"## {topic}\n\n"
    + " ".join(
        f"{topic}, {step}: pregnant women with sickle-cell disease should be seen by the team of the {step} visit, who "
        f"write down what was agreed on {topic.lower()} and when it is looked at again."
        for step in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
    )
    for topic in TOPICS
)


def test_a_guideline_on_a_disease_that_the_patient_is_not_known_to_have_is_left_out_with_the_reason(
    app: App, asker: User
) -> None:
    added = app.add_source(Source(SICKLE.encode(), "sickle.md"))
    patient = Patient(age_years=28, sex="female", is_pregnant=True, pregnancy_weeks=9)
    sickle = Finding("f1", Category.MEDICAL_HISTORY, "sickle cell disease", Polarity.PRESENT, FindingSource.CLINICIAN)
    try:
        for findings, is_for in (((), False), ((sickle,), True)):
            (found,), _ = gather(["tularaemia"], findings, patient, scope=asker.scope, search=app._search)
            assert (added.entry.id in {one.hit.document_id for one in found.passages}) is is_for
            reasons = [one.reason for one in found.left_out]
            why = "a guideline on sickle cell disease, which the patient is not known to have"
            assert (why in reasons) is not is_for
    finally:
        app.delete(added.entry.id)


LISTS = """# Hypertension in adults

## Hypertension

Hypertension is high blood pressure. Treat hypertension in adults, and measure the blood pressure again.

## Treating hypertension: step 1 treatment of hypertension

1.4.1 Offer an ACE inhibitor or an ARB to adults with hypertension starting step 1 treatment who:

- have type 2 diabetes and are of any age or

- are aged under 55.

1.4.2 Offer a calcium-channel blocker to adults with hypertension starting step 1 treatment who:

- are aged 55 or over and do not have type 2 diabetes.

1.4.3 Offer dialysis advice to people with hypertension and chronic kidney disease.

1.4.4 Continue hydrochlorothiazide for hypertension in adults already taking it.

Clinicians should use appropriate guidelines for hypertension.

## Hypertension: summary of step 1 treatment

Recommendations for people with hypertension:

• We recommend less salt in people with hypertension. [Strong recommendation, low certainty evidence] • We suggest \
that people with hypertension go walking. [Conditional recommendation, low certainty evidence]
"""


def test_a_list_is_quoted_whole_and_what_is_for_people_with_or_without_another_illness_is_left_out(
    app: App, service: ConsultService, asker: User
) -> None:
    added = app.add_source(Source(LISTS.encode(), "hypertension.md"))
    try:
        story = "A 58-year-old man with a headache for 2 weeks and type 2 diabetes. No medicines. No allergies."
        (told,) = planned(service, asker, story, "Hypertension")["diagnoses"]
        young = "A 48-year-old man with a headache for 2 weeks. No medicines. No allergies."
        (other,) = planned(service, asker, young, "Hypertension")["diagnoses"]
    finally:
        app.delete(added.entry.id)
    offered = [one["text"] for one in told["offered"]]
    assert any("ARB" in text and "have type 2 diabetes" in text and "under 55" in text for text in offered), offered
    assert not any(text.startswith(("-", "•")) or text.endswith(":") for text in offered)
    left = {one["words"]: one["reason"] for one in told["left_out"]}
    without = next(reason for words, reason in left.items() if "calcium-channel" in words)
    assert without == "for people without type 2 diabetes mellitus; the patient has it"
    assert any("kidney disease; the patient is not known" in reason for reason in left.values())
    assert any("under 55" in one["text"] for one in other["offered"])  # the second of two items with “or” between
    walking = next(one for one in told["offered"] if "walking" in one["text"])
    assert walking["text"].startswith("We suggest that people")
    assert (walking["strength"], walking["certainty"]) == ("conditional", "low")
    assert not any("appropriate guidelines" in text or "hydrochlorothiazide" in text for text in offered)


def test_the_papers_of_another_patient_are_never_quoted(app: App, asker: User) -> None:
    letter = "# Tularaemia\n\n## Treatment of tularaemia\n\nOffer Mr Quillfeather penicillin for tularaemia."
    added = app.add_source(Source(letter.encode(), "letter.md"), filing=Filing(subject="patient-7"))
    try:
        found = app.search("tularaemia treatment", scope=asker.scope, limit=50).hits
        assert added.entry.id in {hit.document_id for hit in found}, "whoever keeps the library may read it"
        (gathered,), alone = gather(["tularaemia"], [], Patient(), scope=asker.scope, search=app._search)
        assert added.entry.id not in {one.hit.document_id for one in gathered.passages} | {
            one.document_id for one in alone
        }
    finally:
        app.delete(added.entry.id)
