"""What words mean that no table names: “clothes hanging off her” is weight loss. The trained reader says so."""

from __future__ import annotations

from citewell.clinical.context import Context
from citewell.clinical.lexicon import Mention, id_of, ids_of, mentions, named_concept

SURE_OF_SPAN, SURE_OF_MEANING = 0.7, 0.7
"""From which share on words are taken for a mention, and their meaning for the likeliest one."""
KINDS = frozenset({"symptom", "condition", "lifestyle"})


def meant(context: Context) -> list[Mention]:
    """The mentions that the reader sees where the lexicon knows no name, with what they mean.

    >>> from citewell.clinical.context import read_context
    >>> [one.name for one in meant(read_context("her clothes are hanging off her"))]
    ['weight loss']
    """
    known = [place for one in mentions(context.text) for place in one.places]
    found = []
    for span in context.spans:
        if span.kind not in KINDS or span.share < SURE_OF_SPAN:
            continue
        if any(start < span.end and span.start < end for start, end in known):
            continue
        meaning = context.meaning(span.start, span.end)
        if meaning is not None and meaning.share >= SURE_OF_MEANING:
            concept = named_concept(meaning.name)
            found.append(
                Mention(span.start, span.end, concept.name, id_of(concept), ids_of(concept), concept.kind, "learned")
            )
    return found
