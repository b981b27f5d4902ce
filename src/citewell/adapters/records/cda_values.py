"""Small values of C-CDA entries: templates, codes, times, amounts, names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from lxml import etree

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named, local_name
from citewell.errors import InputError
from citewell.types.coded_names import plain_name
from citewell.types.codes import OIDS, Code
from citewell.types.facts import PartialDate, fact_id

TEMPLATE = "2.16.840.1.113883.10.20.22.4."
ALIASES = {"2.16.840.1.113883.10.22.4.78": TEMPLATE + "78"}
"""How the guide itself misprinted the template of a smoking status, and many systems after it."""
SECTION = "2.16.840.1.113883.10.20.22.2."
SECTIONS = {
    "1": "10160-0",
    "3": "30954-2",
    "4": "8716-3",
    "5": "11450-4",
    "6": "48765-2",
    "7": "47519-4",
    "8": "51848-0",
    "9": "51847-2",
    "10": "18776-5",
    "20": "11348-0",
    "22": "46240-8",
    "24": "11535-2",
    "35": "10219-4",
    "36": "10218-6",
    "37": "55109-3",
    "38": "29549-3",
    "43": "46241-6",
}
"""The LOINC code of a section that has none, by its template."""
Element = etree._Element
LONG_CELL = 500
WHOLE = frozenset({"table", "thead", "tbody", "tfoot", "list", "text", "section"})
"""What holds the words of many entries, and names none of them."""
MAX_REFERRED_CHARACTERS = 2_000
"""A reference to more than this points at a whole table or section: it says nothing of the entry that holds it."""
_EMPTY_NAME = re.compile(
    r"(?:\W*|n/?[ai]|null|nil|none|other|unk|unknown|unspecified|not specified|assertion|status|problems?|conditions?|"
    r"findings?|disease|disorder|diagnosis|complaint|symptom|substance|drug|medications?|medicine|allergen|"
    r"procedures?|observation|results?|encounters?|vaccine|immunizations?)",
    re.IGNORECASE,
)
_ABSENCE = re.compile(
    r"^\W*(?:no(?![.\w-]| longer| response)|not|nothing|nk[da]+|denies|there (?:is|are) no|patient (?:has no|denies))\b"
    r"|\bno (?:known|record)\b|^\W*unknown (?:allerg|medic|problem|procedure|immuni)"
    r"|(?:[:–-]\s*|\bare\s+|\bis\s+)(?:none|nil|n/?a|unknown)\W*$",
    re.IGNORECASE,
)
_UNTOLD = re.compile(
    r"\bno (?:information|data)\b|\bnone (?:known|recorded|reported|documented|on file|entered|listed|noted|given)\b"
    r"|\bnot (?:documented|recorded|available|applicable|indicated|on file|obtained|provided|entered|listed|specified|"
    r"asked|assessed|performed|supplied)\b|\bunknown (?:if|whether)\b|\bnothing (?:recorded|on file|to report)\b",
    re.IGNORECASE,
)
_DATED = re.compile(r"(?:(?<!\s)\s+)?\(\d[\d/. -]*+\)\s*+$")
"""A day in brackets behind a name."""
_TIME = re.compile(r"(\d{4})(?:-?(\d\d))?(?:-?(\d\d))?(?:(\d\d)(\d\d)(\d\d)?(?:\.\d+)?([+-]\d{4}))?")


def template(element: Element) -> frozenset[str]:
    """The numbers of the entry templates that an element claims to be."""
    roots = [(other.get("root") or "").strip() for other in children_named(element, "templateId")]
    numbers = (ALIASES.get(root, root) for root in roots)
    return frozenset(root.removeprefix(TEMPLATE) for root in numbers if root.startswith(TEMPLATE))


def templated(element: Element, *numbers: str) -> Iterator[Element]:
    """Everything inside that claims one of these templates, in document order."""
    for one in descendants_named(element, "act", "observation", "procedure", "substanceAdministration", "encounter"):
        if template(one) & set(numbers):
            yield one


def is_denied(element: Element) -> bool:
    """Whether the entry says that something is not so."""
    return element.get("negationInd") in ("true", "1")


def all_names_of(code: Element | None) -> list[str]:
    """What a code is called, the best first: its own name, the words it was made from, the names of translations."""
    if code is None:
        return []
    words = child_named(code, "originalText")
    names = [
        code.get("displayName"),
        None if words is None else _DATED.sub("", referred_within(words) or ""),
        None if words is None else "".join(str(text) for text in words.itertext()),
        *(element.get("displayName") for element in children_named(code, "translation")),
    ]
    return list(dict.fromkeys(plain_name(name) for name in names if name and name.strip()))


def names_of(code: Element | None) -> list[str]:
    """The names of a code that name something."""
    return [name for name in all_names_of(code) if not says_nothing(name)]


def name_of(code: Element | None) -> str | None:
    """The best name of a code."""
    return next(iter(names_of(code)), None)


def says_nothing(name: str) -> bool:
    """Whether a name is that of any entry at all, or says that there is nothing to name.

    >>> [says_nothing(name) for name in ("Unknown", "No information about allergies", "Problem", "NovoLog")]
    [True, True, True, False]
    """
    return bool(_EMPTY_NAME.fullmatch(name.strip()) or _ABSENCE.search(name)) or is_untold(name)


def is_untold(words: str) -> bool:
    """Whether words say that nothing is known.

    >>> is_untold("No information available"), is_untold("No growth")
    (True, False)
    """
    return _UNTOLD.search(words) is not None


NO_CODES = frozenset({"UNKNOWN", "UNK", "NI", "NA", "N/A", "NONE", "OTH", "NULL", "NULLFLAVOR"})
"""What some systems write where there is no code: two tests without one are not the same test."""


def code_of(code: Element | None) -> str | None:
    """The code itself, or that of a translation."""
    elements = [] if code is None else [code, *children_named(code, "translation")]
    codes = (element.get("code") for element in elements)
    return next((code for code in codes if code and code.upper() not in NO_CODES), None)


def codes_in(code: Element | None) -> tuple[Code, ...]:
    """The code and those of its translations, each with its terminology."""
    elements = [] if code is None else [code, *children_named(code, "translation")]
    pairs = ((element.get("codeSystem"), element.get("code")) for element in elements)
    return tuple(dict.fromkeys(Code(OIDS.get(oid, f"urn:oid:{oid}"), held) for oid, held in pairs if oid and held))


def attribute(element: Element | None, name: str) -> str | None:
    """An attribute of an element that may be missing."""
    return None if element is None else element.get(name)


def moment(written: str | None) -> PartialDate | None:
    """An HL7 time; a time of day without its zone is worth its day.

    >>> [str(moment(value)) for value in ("20141002103026-0500", "201410", "2014100210")]
    ["PartialDate(text='2014-10-02T10:30:26-05:00')", "PartialDate(text='2014-10')", "PartialDate(text='2014-10-02')"]
    """
    match = _TIME.match(written or "")
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    text = "-".join(part for part in (year, month, day) if part)
    if hour and zone:
        text += f"T{hour}:{minute}:{second or '00'}{zone[:3]}:{zone[3:]}"
    try:
        return PartialDate(text)
    except InputError:
        return None


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of something: a day, a day that nobody knows, or none that is told."""

    at: PartialDate | None = None
    is_told: bool = False

    def is_before(self, now: datetime) -> bool:
        """Whether it ended on a day, by now."""
        return self.at is not None and self.at.at <= now


def ending_of(element: Element) -> Ending:
    """When something ended. Of the null flavours only “unknown” says that it did; “no information” says nothing."""
    for time in children_named(element, "effectiveTime"):
        high = child_named(time, "high")
        if high is not None:
            at = moment(high.get("value"))
            return Ending(at, at is not None or high.get("nullFlavor") == "UNK")
    return Ending()


def began(element: Element) -> PartialDate | None:
    """When something began, or was."""
    for time in children_named(element, "effectiveTime"):
        for part in (time, child_named(time, "low"), child_named(time, "center")):
            if (at := moment(attribute(part, "value"))) is not None:
                return at
    return None


def number(element: Element | None) -> float | None:
    """A value as a number, where it is one."""
    try:
        found = float(attribute(element, "value") or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def person_in(element: Element | None, *kinds: str) -> str | None:
    """The name of the first person inside, or of the first of a kind."""
    if element is None:
        return None
    for person in descendants_named(element, *(kinds or ("assignedPerson", "patient"))):
        for name in children_named(person, "name"):
            parts = [other for other in name if local_name(other) in ("prefix", "given", "family", "suffix")]
            texts = [" ".join((part.text or "").split()) for part in parts] or [
                " ".join("".join(map(str, name.itertext())).split())
            ]
            if words := " ".join(text for text in texts if text):
                return words
    return None


def section_of(element: Element) -> Element | None:
    """The section that an entry stands in."""
    return next((ancestor for ancestor in element.iterancestors() if local_name(ancestor) == "section"), None)


def referred_text(element: Element) -> str | None:
    """The words of the narrative that an entry refers to."""
    text = child_named(element, "text")
    return None if text is None else referred_within(text)


def referred_within(element: Element) -> str | None:
    """The words of the narrative of its section under the id that a text refers to.

    A whole table is not the words of one entry, and what stands in another section is not meant.
    """
    reference = child_named(element, "reference")
    name = _id_in(reference)
    target = None if reference is None or not name else named_element(reference, name)
    if reference is None or target is None or section_of(target) is not section_of(reference):
        return None
    return _named(reference.getroottree().getroot()).words(name)


def referred(within: Element, name: str) -> str | None:
    """The words of the narrative under an id, as a name; nothing where they are too many for one thing."""
    words = _named(within.getroottree().getroot()).words(name)
    return plain_name(words) if words else None


def named_element(within: Element, name: str) -> Element | None:
    """The element of a document that has an id."""
    return _named(within.getroottree().getroot()).element(name)


def references_in(*elements: Element | None) -> tuple[str, ...]:
    """The ids of the narrative that elements refer to, each once."""
    found = (
        _id_in(reference)
        for element in elements
        if element is not None
        for reference in descendants_named(element, "reference")
    )
    return tuple(dict.fromkeys(name for name in found if name))


def _id_in(reference: Element | None) -> str:
    """The id that a reference names, with or without its mark."""
    return (attribute(reference, "value") or "").rpartition("#")[2].strip()


class _NamedElements:
    """The elements of one document that have an id, and their words; each is read once, however many refer to it."""

    def __init__(self, root: Element) -> None:
        self._elements: dict[str, Element] = {}
        for descendant in root.iterdescendants():
            if (name := descendant.get("ID")) is not None:
                self._elements.setdefault(name, descendant)  # the first one where an id is used again
        self._folded = {name.casefold(): element for name, element in reversed(self._elements.items())}
        self._words: dict[str, str | None] = {}

    def element(self, name: str) -> Element | None:
        """The element with an id; systems that write it in capitals on one side alone mean the same."""
        return self._elements.get(name, self._folded.get(name.casefold()))

    def words(self, name: str) -> str | None:
        """What stands under an id, on one line; nothing where that is too much to be said of one thing."""
        if name not in self._words:
            element = self.element(name)
            if element is not None and local_name(element) in WHOLE:
                element = None
            if element is not None and local_name(element) == "tr":  # what a row is about stands in its first cell
                element = next((cell for cell in element if any(map(str.isalpha, said_within(cell, LONG_CELL)))), None)
            said = "" if element is None else said_within(element, MAX_REFERRED_CHARACTERS)
            self._words[name] = said or None
        return self._words[name]


def said_within(element: Element, limit: int) -> str:
    """The words of an element on one line; none where they are more than so many characters."""
    words: list[str] = []
    length = 0
    for text in element.itertext():
        found = str(text).split()
        words += found
        length += sum(map(len, found)) + len(found)
        if length > limit:
            return ""
    return " ".join(words)


@lru_cache(maxsize=1)
def _named(root: Element) -> _NamedElements:
    return _NamedElements(root)


def forget() -> None:
    """Let go of the document that was read last: nothing of a vault stays in memory for speed."""
    _named.cache_clear()
    _code_of_section.cache_clear()


def outer_of(element: Element) -> Element:
    """The act that holds an observation, or the observation itself where it stands alone."""
    for outer in element.iterancestors():
        if template(outer):
            return outer
        if outer is section_of(element):
            break
    return element


def section_code(element: Element) -> str | None:
    """The LOINC code of the section that an entry stands in."""
    return _code_of_section(section_of(element))


@lru_cache(maxsize=256)
def _code_of_section(section: Element | None) -> str | None:
    """Asked once: to find a child of a section takes longer the more entries it has."""
    code = attribute(child_named(section, "code"), "code")
    roots = [(held.get("root") or "").strip() for held in children_named(section, "templateId")]
    numbers = (root.removeprefix(SECTION).partition(".")[0] for root in roots if root.startswith(SECTION))
    return code or next((SECTIONS[number] for number in numbers if number in SECTIONS), None)


def is_later_release(element: Element) -> bool:
    """Whether an entry follows release 2 of the guide or a later one: its template has a date."""
    return any(other.get("extension") for other in children_named(element, "templateId"))


def status_of(element: Element) -> str | None:
    """The state that an act says it is in."""
    return attribute(child_named(element, "statusCode"), "code")


def id_of(element: Element) -> str:
    """From the entry's own id; one without any is named by what it says."""
    names = [
        (held.get("root") or "", held.get("extension") or "")
        for held in children_named(element, "id")
        if held.get("root")
    ]
    kind = "-".join(sorted(template(element)))
    if names:
        return fact_id("cda", kind, *names[0])
    return fact_id("cda", kind, " ".join("".join(str(text) for text in element.itertext()).split()), _said(element))


def _said(element: Element) -> str:
    return "|".join(f"{name!s}={value!s}" for held in element.iter() for name, value in sorted(held.items()))
