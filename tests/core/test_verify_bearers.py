"""A claim that puts what is said of one thing on another, or says it more firmly or more widely than its source."""

from __future__ import annotations

import pytest

from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import Span, Verdict


def _verdict(sentence: str, source: str) -> Verdict:
    span = Span("d:0", 0, len(source), source)
    return verify(sentence, [span], lexicon=Lexicon.load(), similarity=None).verdict


RASH = "Itching was more frequent with cetirizine (9% against 3%), and dry mouth led 11 women to stop treatment."
FIRST = "Offer sertraline as first-line treatment for panic disorder; use imipramine if sertraline is unsuitable."
START = "The starting dose in adults is 50 to 100 mg daily; in people over 65 or with liver disease it is 25 mg."
ANTACID = "Antacids lower the absorption of doxycycline and should be taken at least two hours apart."
PULSE = "Lower the heart rate below 90 per minute before propranolol is stopped."
GRAPEFRUIT = (
    "Taking clarithromycin with simvastatin can damage muscle. Grapefruit juice can raise the level of simvastatin."
)
FLUIDS = "Give ibuprofen for pain in adults. Do not give codeine to children, because it slows breathing."
LINK = "Drinking tea was associated with a higher risk of kidney stones. No association was seen for fruit drinks."


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Dry mouth was more frequent with cetirizine, at 9% against 3%.", RASH),
        ("Itching led 11 women to stop treatment.", RASH),
        ("Offer imipramine as first-line treatment for panic disorder.", FIRST),
        ("The starting dose in people over 65 is 50 to 100 mg daily.", START),
        ("Doxycycline lowers the absorption of antacids.", ANTACID),
        ("The absorption of antacids is lowered by doxycycline.", ANTACID),
        ("Propranolol lowers the heart rate below 90 per minute.", PULSE),
        ("Grapefruit juice can damage muscle.", GRAPEFRUIT),
        ("Ibuprofen slows breathing in children.", FLUIDS),
        ("Drinking tea causes kidney stones.", LINK),
        ("Take it with breakfast.", "Take it on an empty stomach, 30 minutes before breakfast."),
        ("Start anticoagulation at once after a stroke.", "Delay anticoagulation for two weeks after a stroke."),
        ("Sleep improved only with melatonin.", "Sleep improved in both groups."),
        ("Offer aspirin to all pregnant women.", "Offer aspirin to women at high risk of pre-eclampsia."),
        ("Codeine is given for pain.", "Codeine should not be given for pain outside a hospital."),
        ("If the level is high, the dose may go up.", "If the level is high, the dose may go down."),
        ("You will be told to take 2 extra doses.", "You will be told to miss 2 doses."),
        ("Refer adults of any age with a lump in the neck.", "Refer adults aged 45 and over with a lump in the neck."),
        ("Use timolol in preference to latanoprost.", "Use latanoprost in preference to timolol."),
        ("Patients with bites were cured as often as others.", "Patients with bites were excluded."),
        (
            "Penicillin for 5 days was ineffective in scarlet fever.",
            "Patients with scarlet fever had penicillin for 5 days.",
        ),
    ],
)
def test_what_is_said_of_another_or_less_firmly_is_not_carried(claim: str, source: str) -> None:
    assert _verdict(claim, source) is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Dry mouth led 11 women to stop treatment.", RASH),
        ("Itching was more frequent with cetirizine, at 9% against 3%.", RASH),
        ("Offer sertraline as first-line treatment for panic disorder.", FIRST),
        ("The starting dose in people over 65 is 25 mg.", START),
        ("The absorption of doxycycline is lowered by antacids.", ANTACID),
        ("Grapefruit juice can raise the level of simvastatin.", GRAPEFRUIT),
        ("Drinking tea was associated with a greater risk of kidney stones.", LINK),
        ("Deaths were no different between the groups.", "Deaths did not differ between the groups."),
        ("Falls were rarer with exercise.", "Falls were less common with exercise."),
        ("Oral iron should be given in anaemia.", "Give oral iron in anaemia, and consider a transfusion in shock."),
        ("Examine eyes every year in diabetes.", "Eyes should be examined yearly in people with diabetes."),
        (
            "Give prednisolone 20 mg to children aged 2 to 5 for three days.",
            "Give prednisolone 20 mg to children aged 2 to 5 and 30 to 40 mg to older children for three days.",
        ),
    ],
)
def test_what_is_said_of_the_same_in_other_words_is_carried(claim: str, source: str) -> None:
    assert _verdict(claim, source) is Verdict.SUPPORTED
