"""Clinical language, read in one place: names, context, quantities, populations, emergencies and kinds of question."""

from citewell.clinical.emergencies import find_emergencies, numbers_of
from citewell.clinical.lexicon import (
    Abbreviation,
    Concept,
    Kind,
    Lexicon,
    Mention,
    Name,
    NameHit,
    Tag,
    broader,
    concept_ids,
    kept_name,
    key,
    mentions,
    named_concept,
)
from citewell.clinical.tokens import fold, joins

__all__ = [
    "Abbreviation",
    "Concept",
    "Kind",
    "Lexicon",
    "Mention",
    "Name",
    "NameHit",
    "Tag",
    "broader",
    "concept_ids",
    "find_emergencies",
    "fold",
    "joins",
    "kept_name",
    "key",
    "mentions",
    "named_concept",
    "numbers_of",
]
