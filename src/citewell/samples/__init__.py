"""A small library written for Citewell, for newcomers to search; `scripts/make_samples.py` makes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from citewell.types import Filing, LibraryEntry

GUIDELINE = "breathlessness-guideline.pdf"
CHAPTER = "child-dehydration-chapter.nxml"
POLICY = "anticoagulants-policy.docx"
LEAFLET = "warfarin-leaflet.html"


@dataclass(frozen=True, slots=True)
class ExampleQuestion:
    """A question that the samples answer, and where: the section's title and the words that answer it."""

    text: str
    file: str
    section: str
    words: str
    page: int | None = None


EXAMPLE_QUESTIONS = (
    ExampleQuestion(
        "unexplained hemoptysis in a 50 year old",
        GUIDELINE,
        "1.3 Suspected lung cancer",
        "unexplained haemoptysis urgently",
        page=5,
    ),
    ExampleQuestion(
        "coughing up blood",
        GUIDELINE,
        "4 Terms used in this guideline",
        "Coughing up blood from the airways or lungs.",
        page=12,
    ),
    ExampleQuestion(
        "swollen ankles and NT-proBNP 1,500", GUIDELINE, "1.4 Suspected heart failure", "400 to 2,000 ng/L", page=6
    ),
    ExampleQuestion(
        "pneumonia dose with penicillin allergy", GUIDELINE, "3 First doses for adults", "200 mg on day 1", page=11
    ),
    ExampleQuestion(
        "how much ORS for a 12 kg child with diarrhea", CHAPTER, "Plan B: some dehydration", "needs 75 × 12 = 900 ml"
    ),
    ExampleQuestion(
        "which medicines to avoid in a child with diarrhea", CHAPTER, "Medicines to avoid", "Do not give loperamide"
    ),
    ExampleQuestion(
        "who needs heparin bridging for AF",
        POLICY,
        "Who needs bridging",
        "Do not bridge patients with atrial fibrillation",
    ),
    ExampleQuestion(
        "I missed a dose of my blood thinner",
        LEAFLET,
        "If you miss a dose",
        "If you remember before midnight, take it.",
    ),
)
"""For an empty search page: the first hit of each holds its words, where a space may be a no-break one."""


def sample_filing(path: Path, filing: Filing) -> Filing:
    """Where a sample belongs: the guideline among them is filed as one, so that patients can be held against it."""
    if path.name != GUIDELINE:
        return filing
    return replace(filing, tags=(filing.tags or frozenset({"public"})) | {"guideline"})


def sample_files() -> list[Path]:
    """The sample documents that ship with Citewell, in the order a newcomer should see them."""
    folder = Path(__file__).parent
    return [folder / name for name in (GUIDELINE, CHAPTER, POLICY, LEAFLET)]


@cache
def _hashes() -> frozenset[str]:
    return frozenset(sha256(path.read_bytes()).hexdigest() for path in sample_files())


def is_sample(entry: LibraryEntry) -> bool:
    """Whether a document is one of the samples, byte for byte, whatever it is called by now."""
    return entry.content_hash in _hashes()
