"""What is said of one person, and not of people: a guideline cannot say it, only a record can."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from citewell.answer.finish import Verify
from citewell.clinical.populations import of_a_person
from citewell.types import Check, Span, Verdict

PEOPLE = "the guideline speaks of people, and the record does not say it of this one"


def of_people(
    verify: Verify, *, is_record: Callable[[Span], bool] = lambda _: False, record: Sequence[Span] = ()
) -> Verify:
    """The same check, in which only words of the record carry what is said of a person; `record` stands beside it."""

    def checked(sentence: str, spans: Sequence[Span]) -> Check:
        check = verify(sentence, spans)
        said = of_a_person(sentence)
        if said is None or check.is_vetoed:
            return check
        own = [*record, *(span for span in spans if is_record(span))]
        if verify(said, own).verdict is Verdict.SUPPORTED:
            return check
        return replace(check, verdict=_lowered(check.verdict), reasons=(PEOPLE,), is_vetoed=True)

    return checked


def _lowered(verdict: Verdict) -> Verdict:
    return Verdict.PARTLY if verdict is Verdict.SUPPORTED else verdict
