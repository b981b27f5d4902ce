"""What of a message to the chat no loaded guideline could be asked for: things, words and values, each with why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.assistants.guidelines.match import is_clinical, placed
from citewell.assistants.guidelines.shelve import SearchableGuideline
from citewell.assistants.guidelines.words_shared import question_words
from citewell.clinical import broader
from citewell.clinical.phrases import content_words, measured
from citewell.clinical.quantities import results

VALUE = "the chat does not compare values; assess the patient instead"
NOT_UNDERSTOOD = "not understood"


def chat_unused(message: str, books: Sequence[SearchableGuideline]) -> Iterator[dict[str, str]]:
    """The words of a message that no piece of the guidelines has, and its values."""
    names = " or ".join(dict.fromkeys(book.guideline.name for book in books))
    for places, unit in placed(message):
        words = message[places[0][0] : max(end for _, end in places)]
        if unit <= question_words() or any(book.shared.counts[one] for book in books for one in unit | broader(unit)):
            continue
        if is_clinical(unit):
            yield {"words": words, "why": f"{names} does not mention it"}
        elif content_words(words, without=("function", "talk")) and not any(char.isdigit() for char in words):
            yield {"words": words, "why": NOT_UNDERSTOOD}
    for value in dict.fromkeys([*measured(message), *_beside_tests(message)]):
        yield {"words": value, "why": VALUE}


def _beside_tests(message: str) -> Iterator[str]:
    """The value of a test that has no unit: “PSA of 12”."""
    for result in results(message):
        if result.written and not measured(result.text):
            yield f"{result.written[0]:g}"
