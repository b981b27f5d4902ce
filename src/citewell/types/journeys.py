"""A care journey: a name and a slug under which documents are filed and conversations are held."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime

from citewell.errors import InputError
from citewell.types.library import LifecycleState

UNIVERSAL = "universal"
"""In addresses: no journey, so documents for everyone only."""
RESERVED_SLUGS = frozenset({UNIVERSAL, "all", "none", "new"})
PREFIX = "journey-"
MAX_SLUG_CHARACTERS = 64
MAX_NAME_CHARACTERS = 120
MAX_DESCRIPTION_CHARACTERS = 2_000
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Journey:
    """A care journey as it is listed, with how many documents answer in it."""

    slug: str
    name: str
    description: str
    documents: int
    """Those filed under it that a search may find; documents for everyone are not counted."""
    revision: int
    """Grows with every change; 0 where documents carry the slug and nobody has named it yet."""
    changed_at: datetime | None
    changed_by: str | None


@dataclass(frozen=True, slots=True)
class VersionStanding:
    """Where a document version stands now, as a scope sees it."""

    state: LifecycleState
    is_current: bool
    is_visible: bool


def checked_slug(slug: str) -> str:
    """A slug as it is stored.

    >>> checked_slug(" Back-Pain ")
    'back-pain'
    """
    found = slug.strip().lower()
    if not _SLUG.fullmatch(found) or len(found) > MAX_SLUG_CHARACTERS:
        raise InputError(
            f"“{found[:MAX_SLUG_CHARACTERS]}” is not a valid slug. Use up to {MAX_SLUG_CHARACTERS} lower-case "
            "letters, digits and single hyphens inside."
        )
    if found in RESERVED_SLUGS:
        raise InputError(f"“{found}” is a reserved word. Choose another slug.")
    return found


def checked_name(name: str) -> str:
    """The name of a journey in one line.

    >>> checked_name("  Back  pain ")
    'Back pain'
    """
    found = " ".join("".join(sign for sign in name if sign.isspace() or not _is_control(sign)).split())
    if not found or len(found) > MAX_NAME_CHARACTERS:
        raise InputError(f"A journey needs a name of up to {MAX_NAME_CHARACTERS} characters.")
    return found


def checked_description(text: str) -> str:
    """What a journey is about, without signs that cannot be seen."""
    found = "".join(sign for sign in text.strip() if sign == "\n" or not _is_control(sign))
    if len(found) > MAX_DESCRIPTION_CHARACTERS:
        raise InputError(f"The description is too long. The limit is {MAX_DESCRIPTION_CHARACTERS:,} characters.")
    return found


def slug_of(name: str) -> str:
    """The slug that a name suggests; one of its own where the name has no letter or digit for it.

    >>> slug_of("Küchenschmerz & Knee pain (adults)"), slug_of("All")
    ('kuchenschmerz-knee-pain-adults', 'journey-all')
    >>> slug_of("疼痛")
    'journey-a65e2f'
    """
    plain = unicodedata.normalize("NFKD", name.lower()).encode("ascii", "ignore").decode()
    found = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[: MAX_SLUG_CHARACTERS - len(PREFIX)].strip("-")
    if not found:
        return PREFIX + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return PREFIX + found if found in RESERVED_SLUGS else found


def _is_control(sign: str) -> bool:
    """Whether a sign is one that cannot be seen and steers."""
    return unicodedata.category(sign) in ("Cc", "Cs")
