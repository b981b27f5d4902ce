"""Warnings of plans: what notes say in everyday words is held against the plan, and its harmless neighbours are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.adapters.embedding.minilm import MiniLM
from citewell.app import App
from citewell.types import User
from citewell.types.consult_plan_edits import CHECK_FIRST, lines_now, warnings_by_line
from tests.assistants.consult_library import with_guidelines

pytestmark = pytest.mark.slow

LABEL = """# Warfarin tablets: prescribing information

## Contraindications

- Malignant hypertension
- Pregnancy, except in women with mechanical heart valves

## Drug interactions

Check the INR more often when antibiotics are started or stopped. Ibuprofen taken with warfarin causes bleeding.
"""
EAR, PRESSURE = "Acute otitis media", "Malignant hypertension"
EARACHE = "45-year-old woman, earache for 2 days, weight 70 kg. Hysterectomy, not pregnant."


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, embedder: MiniLM) -> Iterator[App]:
    home = tmp_path_factory.mktemp("warnings")
    label = home / "warfarin.md"
    label.write_text(LABEL, "utf-8")
    with with_guidelines(home, embedder) as made:
        made.add(Path(label))
        yield made


def planned(app: App, condition: str, *notes: str) -> Any:
    service, asker = app.consult.service, User.owner(app.scope_of_owner())
    consult_id = service.start(asker).consult.id
    for note in notes:
        service.say(consult_id, note, asker)
    service.acknowledge(consult_id, asker)
    service.differentials(consult_id, [(condition, "high")], asker, despite="a test")
    plan = service.assess(consult_id, asker).consult.plan
    assert plan is not None
    return plan


def warned(plan: Any) -> list[tuple[str, str, str]]:
    """Each warning of a plan: its kind, its medicine, its words."""
    lines = [line for one in plan["diagnoses"] for line in (*one["offered"], *one["held_back"])]
    told = [*plan["warnings"], *(conflict for line in lines for conflict in line["conflicts"])]
    return [(one["kind"], one["medicine"], one["text"]) for one in told]


@pytest.mark.parametrize(
    ("note", "condition", "expected"),
    [
        ("Ampiclox 2019 -> throat closed up.", EAR, ("allergy", "amoxicillin", "both are penicillins")),
        ("Came out in hives with Augmentin.", EAR, ("allergy", "amoxicillin", "both are penicillins")),
        ("Any time he takes Ampiclox he gets big rashes.", EAR, ("allergy", "amoxicillin", "both are penicillins")),
        ("Doesn't tolerate amoxicillin.", EAR, ("allergy", "amoxicillin", "is allergic to")),
        ("Amoxicillin last winter: stopped after a week.", EAR, ("earlier", "amoxicillin", "last winter")),
        ("AF 2015 - Marevan.", EAR, ("interaction", "amoxicillin", "Check the INR more often")),
        ("Takes warfarin. Buys Nurofen.", PRESSURE, ("interaction", "ibuprofen", "causes bleeding")),
        ("On warfarin.", PRESSURE, ("illness", "warfarin", "(Contraindications): “Malignant")),
        ("CKD 4. Takes metformin.", EAR, ("renal", "metformin", "eGFR is 15 to 29")),
        ("Creatinine 310. Takes metformin.", EAR, ("renal", "metformin", "calculated from")),
        ("K 5.9. Takes Aldactone.", EAR, ("renal", "spironolactone", "potassium is 5.9")),
        ("Sando-K and Aldactone daily.", EAR, ("interaction", "potassium chloride", "spironolactone")),
        ("On haemodialysis on Mondays. Takes metformin.", EAR, ("renal", "metformin", "dialysis")),
    ],
)  # fmt: skip
def test_a_planted_conflict_is_told(app: App, note: str, condition: str, expected: tuple[str, str, str]) -> None:
    found = warned(planned(app, condition, EARACHE, note))
    assert any(one[:2] == expected[:2] and expected[2] in one[2] for one in found), found


@pytest.mark.parametrize(
    ("note", "kind"),
    [
        ("Allergic to latex. No medicines.", "allergy"),
        ("Mother is allergic to penicillin. No medicines.", "allergy"),
        ("Hives last summer after strawberries. Amoxicillin was fine in May.", "allergy"),
        ("Prednisolone -> rash settled.", "allergy"),
        ("eGFR 92, K 4.2. Takes naproxen.", "renal"),
        ("Had warfarin for a clot, stopped 4 years ago.", "interaction"),
        ("BP 142/88, pulse 78. Takes bisoprolol.", "illness"),
        ("Her daughter is 20 weeks pregnant. No medicines.", "pregnancy"),
    ],
)
def test_a_harmless_neighbour_is_no_conflict(app: App, note: str, kind: str) -> None:
    assert kind not in {one[0] for one in warned(planned(app, EAR, EARACHE, note))}


def test_a_planned_pregnancy_is_told_beside_what_harms_it(app: App) -> None:
    told = planned(app, "Relapse of malaria", "28F, malaria again, weight 60 kg. Trying for a baby. Not pregnant yet.")
    assert any(one[0] == "pregnancy" and "planning a pregnancy" in one[2] for one in warned(told))


def test_a_name_that_is_not_known_is_told_as_not_checked(app: App) -> None:
    notes = " ".join(planned(app, EAR, EARACHE, "On Zyloriq and ramipril. Allergic to quaxol.")["notes"])
    assert "Not checked against the plan: zyloriq." in notes
    assert "Allergies that Citewell does not know as medicines: quaxol." in notes
    assert "ramipril" not in notes


@pytest.mark.parametrize(
    ("note", "words"),
    [
        ("CKD 5. eGFR 90.", "Both “CKD 5” and an eGFR of 90"),
        ("Takes naproxen daily. Allergic to naproxen.", "The patient takes naproxen, but an allergy to naproxen"),
        ("He is a 50-year-old man, 20 weeks pregnant.", "male"),
    ],
)
def test_what_cannot_both_hold_is_told(app: App, note: str, words: str) -> None:
    assert words in " ".join(planned(app, EAR, "Earache for 2 days.", note)["notes"])


def test_a_child_without_a_weight_is_told_and_asked(app: App) -> None:
    plan = planned(app, EAR, "Boy aged 4, earache for 2 days. No allergies. No medicines.")
    lines = [line for one in plan["diagnoses"] for line in one["offered"]]
    worked = [dose for line in lines for dose in line["doses"]]
    assert worked
    assert {dose["arithmetic"] for dose in worked} == {"The weight is needed to calculate this dose but is not known."}
    assert "What is the child's weight?" in " ".join(plan["notes"])


def test_an_interaction_leaves_the_lines_in_sight_and_is_told_in_full_once(app: App) -> None:
    service, asker = app.consult.service, User.owner(app.scope_of_owner())
    consult_id = service.start(asker).consult.id
    service.say(
        consult_id, "44-year-old man, 70 kg, fever for 2 days. Takes amiodarone and haloperidol. No allergies.", asker
    )
    service.differentials(consult_id, [("Malaria", "high")], asker, despite="a test")
    consult = service.assess(consult_id, asker).consult
    lines = {line.label: line for line in lines_now(consult, 1)}
    warned = warnings_by_line(consult)
    apart = [label for label, line in lines.items() if line.held_back == CHECK_FIRST]
    assert apart, [line.entry["text"] for line in lines.values()]
    told = [one["text"] for label in apart for one in warned[label].told]
    assert len(told) == len(set(told))
    assert all(warned[label].told or warned[label].as_for for label in apart)
