"""What the chat says in words of its own: texts in files, with the names of the guidelines at hand put in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from citewell.assistants.guidelines.search_index import SearchableGuideline
from citewell.clinical import numbers_of
from citewell.prompts import Template

FOLDER = Path(__file__).parent / "chat_texts"
SMALL_WORDS = frozenset({"and", "or", "of", "in", "the", "for", "a", "to", "on", "with"})
MAX_SECTIONS = 8


@cache
def template(name: str) -> Template:
    """A text by its name."""
    return Template.read(FOLDER / f"{name}.txt")


@cache
def has(name: str) -> bool:
    """Whether there is such a text."""
    return (FOLDER / f"{name}.txt").is_file()


@dataclass(frozen=True, slots=True)
class ChatTexts:
    """The texts for one choice of guidelines."""

    books: tuple[SearchableGuideline, ...]
    country: str = "GB"

    def text(self, name: str) -> str:
        """A text; the one for guidelines in general where it is not about one guideline on suspected cancer."""
        general = f"{name}_general"
        chosen = general if has(general) and not self._is_about_one_cancer_guideline() else name
        return template(chosen).filled(**self._holes())

    def _is_about_one_cancer_guideline(self) -> bool:
        return len(self.books) == 1 and any(rule.site for rule in self.books[0].guideline.rules)

    def _holes(self) -> dict[str, str]:
        first = self.books[0]
        title = first.guideline.title
        return {
            "publisher": _publisher(first.publisher),
            "name": first.guideline.name,
            "names": " and ".join(book.guideline.name for book in self.books),
            "subject": _lower_first(title).replace(":", ""),
            "heading": headed(title).replace(": ", " - "),
            "headed": headed(title),
            "editions": " ".join(_edition(book) for book in self.books),
            "sections": ", ".join(self._sections()[:MAX_SECTIONS]),
            "number": next((rule.id for book in self.books for rule in book.guideline.rules), "1.1.1"),
            **_called(self.country),
        }

    def _sections(self) -> list[str]:
        guidelines = [book.guideline for book in self.books]
        found = (title for each in guidelines for title in (*(rule.section for rule in each.rules), *each.headings))
        return list(dict.fromkeys(_lower_first(re.sub(r"^[\d.]+\s*", "", one)) for one in found))


def _called(country: str) -> dict[str, str]:
    """Whom to call in a country, in an emergency and for what cannot wait.

    >>> _called("GB")["soon"], _called("US")["soon"]
    (', or call NHS 111,', '')
    """
    numbers = numbers_of(country)
    return {
        "emergency": " or ".join(numbers.emergency),
        "soon": f", or call {numbers.advice}," if numbers.advice else "",
    }


def _publisher(full: str | None) -> str:
    """The short name of a publisher before a guideline's.

    >>> _publisher("National Institute for Health and Care Excellence (NICE)"), _publisher(None)
    ('NICE ', '')
    """
    short = re.search(r"\(([A-Z]{2,})\)", full or "")
    return f"{short[1]} " if short else ""


def headed(title: str) -> str:
    """A title with capitals.

    >>> headed("Suspected cancer: recognition and referral")
    'Suspected Cancer: Recognition and Referral'
    """
    return " ".join(word if word in SMALL_WORDS else word[:1].upper() + word[1:] for word in title.split())


def _lower_first(title: str) -> str:
    is_name = len(title) > 1 and title[1].isupper()
    return title if is_name else title[:1].lower() + title[1:]


def _edition(book: SearchableGuideline) -> str:
    """A guideline and its edition, as a sentence."""
    edition = f", edition of {book.guideline.edition}" if book.guideline.edition else ""
    return f"Loaded: {book.guideline.name}, {book.guideline.title}{edition}."
