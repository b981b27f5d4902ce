"""What the line of a file says of a fact besides what the answer says: which arm, who watches it, another date."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta

from citewell.assistants.records.fact_sentences import FactLine
from citewell.assistants.records.known_facts import moment_of
from citewell.clinical.written_days import written_days
from citewell.sentences import terms
from citewell.types import Hit
from citewell.types.facts import LabResult, Professional, RecordOwner
from citewell.types.facts_line import line_of

MOST_LINES = 2
"""Lines of an answer up to which it is about something of its own."""
LEAST = 2
"""Words of a line that an answer does not have, up to which it says nothing new."""
LONGEST_ROW = 500
"""Characters of a line that is shown; a longer one is a whole section."""
IN_FULL = "The line in your file says in full: “{row}”"
OTHER_DAY = "The line in your file gives another date, so check it: “{row}”"
_ASKS = re.compile(r"\b(?:who|whom|whose|which|where|why|what for|how (?:often|long|much|many))\b", re.IGNORECASE)
"""Words that ask for a part of something, of which facts may hold less than the file."""
NEAR = timedelta(days=1)
"""A time of day in another zone may be the day beside."""


def row_details(question: str, placed: Sequence[tuple[FactLine, Sequence[Hit]]]) -> list[str]:
    """The lines of a file that say what is asked for, or another day than the fact has."""
    if len(placed) > MOST_LINES:
        return []
    asked, found = set(terms(question)), dict[str, None]()
    for line, hits in placed:
        if isinstance(line.facts[0], LabResult | Professional | RecordOwner):
            continue
        said = set(terms(line.text))
        for hit in hits[:MOST_LINES]:
            row = " ".join(hit.text.split())
            if len(row) > LONGEST_ROW or any(row == " ".join(line_of(fact).split()) for fact in line.facts):
                continue
            if _is_another_day(row, line):
                found[OTHER_DAY.format(row=row)] = None
                continue
            unsaid = {word for word in terms(row) if word.isalpha()} - said
            if unsaid & asked or (len(unsaid) >= LEAST and _ASKS.search(question)):
                found[IN_FULL.format(row=row)] = None
    return list(found)


def _is_another_day(row: str, line: FactLine) -> bool:
    """Whether a line names days and none of them is that of its fact."""
    moments = (moment_of(fact) for fact in line.facts)
    days = [moment.day for moment in moments if moment is not None and len(moment.text) > len("2015-03")]
    written = list(written_days(row))
    return bool(days and written) and not any(abs(day - other) <= NEAR for day in days for other in written)
