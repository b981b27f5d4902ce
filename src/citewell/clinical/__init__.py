"""Clinical language, read in one place: names, context, quantities, populations, emergencies and kinds of question."""

from citewell.clinical.emergencies import find_emergencies, numbers_of
from citewell.clinical.lexicon import Abbreviation, Concept, Lexicon, Mention, Name, Tag, fold, joins, key

__all__ = [
    "Abbreviation",
    "Concept",
    "Lexicon",
    "Mention",
    "Name",
    "Tag",
    "find_emergencies",
    "fold",
    "joins",
    "key",
    "numbers_of",
]
