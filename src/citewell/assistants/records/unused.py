"""What of a question a record could not be asked for: names that it does not have, and values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from citewell.assistants.records.named_facts import Names
from citewell.clinical import Lexicon
from citewell.clinical.phrases import measured
from citewell.types import Hit
from citewell.types.facts import Fact

NOT_THERE = "not mentioned in your record"
VALUE = "values in a question are not checked against your record"


def unused(
    question: str, facts: Sequence[Fact], quoted: Sequence[Hit], *, lexicon: Lexicon
) -> Iterator[dict[str, str]]:
    """The medicines, tests and other things that no fact is called and no paper says, and the values."""
    names = Names.of(question, lexicon)
    papers = " ".join(hit.text for hit in quoted).casefold()
    missing = dict.fromkeys([*names.unknown(facts), *names.about(names.among(facts))])
    yield from ({"words": words, "why": NOT_THERE} for words in missing if words not in papers)
    yield from ({"words": value, "why": VALUE} for value in dict.fromkeys(measured(question)))
