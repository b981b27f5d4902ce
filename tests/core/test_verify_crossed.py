"""A claim whose words all stand in the source, but not there."""

from __future__ import annotations

import pytest

from citewell.answer.verify import verify
from citewell.clinical import Lexicon
from citewell.types import Span, Verdict


def _verdict(sentence: str, source: str) -> Verdict:
    span = Span("d:0", 0, len(source), source)
    return verify(sentence, [span], lexicon=Lexicon.load(), similarity=None).verdict


SWABS = "Throat swabs are sent before penicillin is started. Results come back after two days."
RASH = "Rash was more common with lamotrigine. Weight gain was seen with valproate."
KNEES = (
    "Swelling went down in both arms of the trial. Three patients in the brace group had a fall. "
    "Nobody in the exercise group was injured."
)
ARMS = "Nausea was seen in 14% of those on iron and in 6% of those on placebo."
USES = "The dose is 200 mg once a day for back pain and 400 mg twice a day for gout."
LIMITS = "If potassium is above 5.5 mmol/L, halve the dose of ramipril; if it is above 6 mmol/L, stop ramipril."
ROW = (
    "Medicine: Edoxaban; Procedure with low risk: Stop 24 hours before; Procedure with high risk: Stop 48 hours before"
)
FEVER = "The maximum dose of ibuprofen for adults is 2 g a day. Adults over 70 should take no more than 1 g a day."


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Penicillin is started before throat swabs are sent.", SWABS),
        ("Throat swabs are sent after penicillin is started.", SWABS),
        ("Rash was more common with valproate than with lamotrigine.", RASH),
        ("Three patients in the exercise group had a fall.", KNEES),
        ("Adults over 70 should take no more than 2 g of ibuprofen a day.", FEVER),
        ("Nausea was seen in 6% of those on iron.", ARMS),
        ("For gout, the dose is 200 mg once a day.", USES),
        ("The dose is 10 mg for children.", "The dose is 10 mg for adults and 5 mg for children."),
        ("The dose is 10 mg for children.", "Adults: 10 mg; Children: 5 mg"),
        ("The dose is 10 mg for children.", "Group: Adults; Dose: 10 mg; Group: Children; Dose: 5 mg"),
        ("Stop edoxaban 48 hours before a procedure with low risk.", ROW),
        ("Stop ramipril if potassium is above 5.5 mmol/L.", LIMITS),
        ("Drug A was superior to drug B for cure.", "Drug A was non-inferior to drug B for cure."),
        ("The screen cut deaths by 20 percentage points.", "The screen cut deaths by 20%."),
        ("All of the children had a headache.", "Half of the children had a headache."),
        (
            "Clips are placed after 4 hours of onset of bleeding.",
            "Clips are placed within 4 hours of onset of bleeding.",
        ),
        (
            "The drug lowered the rate of stroke.",
            "Stroke was seen in 3.1% and 3.4% (hazard ratio 0.91, 95% CI 0.7 to 1.2).",
        ),
        ("The drug lowered the rate of stroke.", "The rate of stroke was lower with the drug (p = 0.31)."),
    ],
)
def test_what_is_said_of_another_is_not_carried(claim: str, source: str) -> None:
    assert _verdict(claim, source) is not Verdict.SUPPORTED


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("Before penicillin is started, throat swabs are sent.", SWABS),
        ("Penicillin is started after throat swabs are sent.", SWABS),
        ("Rash was more common with lamotrigine than with valproate.", RASH + " It was rare with valproate."),
        ("Three of the patients in the brace group had a fall.", KNEES),
        ("Adults over 70 should take at most 1 g of ibuprofen a day.", FEVER),
        ("Nausea was seen in 14% of those on iron.", ARMS),
        ("Of those given placebo, 6% had nausea.", ARMS),
        ("For gout, the dose is 400 mg twice a day.", USES),
        ("The dose is 5 mg for children.", "The dose is 10 mg for adults and 5 mg for children."),
        ("The dose is 5 mg for children.", "Adults: 10 mg; Children: 5 mg"),
        ("Stop edoxaban 24 hours before a procedure with low risk.", ROW),
        ("Stop ramipril if potassium is above 6 mmol/L.", LIMITS),
        ("Drug A was not inferior to drug B for cure.", "Drug A was non-inferior to drug B for cure."),
        ("The rate rose by 15 percentage points.", "The rate rose from 30% to 45%, that is by 15 percentage points."),
        ("The drug lowered the rate of stroke.", "The rate of stroke was lower with the drug (p = 0.01)."),
        (
            "The drug did not significantly lower the rate of stroke.",
            "The rate of stroke was not lower with the drug (p = 0.31).",
        ),
        ("Keep the tablets at least 4 hours apart from iron.", "Take the tablets at least 4 hours apart from iron."),
        ("Treat mild pneumonia with tablets.", "Treat mild pneumonia, a disease of low severity, with tablets."),
    ],
)
def test_what_is_said_of_the_same_is_carried(claim: str, source: str) -> None:
    assert _verdict(claim, source) is Verdict.SUPPORTED
