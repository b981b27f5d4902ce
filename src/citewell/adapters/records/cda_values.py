"""Small values of C-CDA entries: templates, codes, times, amounts, names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache

from lxml import etree

from citewell.adapters.parsers.markup_flow import child_named, children_named, descendants_named, local_name
from citewell.errors import InputError
from citewell.types.coded_names import plain_name
from citewell.types.facts import PartialDate, fact_id

TEMPLATE = "2.16.840.1.113883.10.20.22.4."
Element = etree._Element
MAX_REFERRED_CHARACTERS = 2_000
"""A reference to more than this points at a whole table or section: it says nothing of the entry that holds it."""
_TIME = re.compile(r"(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?(?:\.\d+)?([+-]\d{4}))?")


def template(element: Element) -> frozenset[str]:
    """The numbers of the entry templates that an element claims to be."""
    roots = [other.get("root") or "" for other in children_named(element, "templateId")]
    return frozenset(root.removeprefix(TEMPLATE) for root in roots if root.startswith(TEMPLATE))


def templated(element: Element, *numbers: str) -> Iterator[Element]:
    """Everything inside that claims one of these templates, in document order."""
    for one in descendants_named(element, "act", "observation", "procedure", "substanceAdministration", "encounter"):
        if template(one) & set(numbers):
            yield one


def is_denied(element: Element) -> bool:
    """Whether the entry says that something is not so."""
    return element.get("negationInd") == "true"


def name_of(code: Element | None) -> str | None:
    """What a code is called: its own name, the words it was made from, or the name of a translation."""
    if code is None:
        return None
    words = child_named(code, "originalText")
    referred = _referred(child_named(words, "reference")) if words is not None else None
    names = [
        code.get("displayName"),
        referred,
        None if words is None else "".join(str(text) for text in words.itertext()),
        *(element.get("displayName") for element in children_named(code, "translation")),
    ]
    return next((plain_name(name) for name in names if name and name.strip()), None)


def code_of(code: Element | None) -> str | None:
    """The code itself, or that of a translation."""
    elements = [] if code is None else [code, *children_named(code, "translation")]
    return next((element.get("code") for element in elements if element.get("code")), None)


def value_of(element: Element | None, name: str) -> Element | None:
    """The first child of this name."""
    return child_named(element, name)


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


def span_of(element: Element) -> tuple[PartialDate | None, PartialDate | None, bool]:
    """When something began, when it ended, and whether it ended at all."""
    for time in children_named(element, "effectiveTime"):
        if (at := moment(time.get("value"))) is not None:
            return at, None, False
        low, high = child_named(time, "low"), child_named(time, "high")
        if low is not None or high is not None:
            has_ended = high is not None and (high.get("value") is not None or high.get("nullFlavor") == "UNK")
            return moment(attribute(low, "value")), moment(attribute(high, "value")), has_ended
    return None, None, False


def amount(element: Element | None) -> str | None:
    """A number with its unit; a bare number of puffs or tablets says nothing about the dose."""
    value, unit = attribute(element, "value"), attribute(element, "unit")
    return f"{value} {unit}" if value and unit and unit != "1" else None


def number(element: Element | None) -> float | None:
    """A value as a number, where it is one."""
    try:
        found = float(attribute(element, "value") or "")
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def person_in(element: Element | None) -> str | None:
    """The name of the first person inside."""
    if element is None:
        return None
    for person in descendants_named(element, "assignedPerson", "patient"):
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
    return None if text is None else _referred(child_named(text, "reference"))


def _referred(reference: Element | None) -> str | None:
    """The words of the narrative under the id that a reference names; a whole table is not the words of one entry."""
    name = (attribute(reference, "value") or "").removeprefix("#")
    if reference is None or not name:
        return None
    return _named(reference.getroottree().getroot()).words(name)


class _NamedElements:
    """The elements of one document that have an id, and their words; each is read once, however many refer to it."""

    def __init__(self, root: Element) -> None:
        self._elements: dict[str, Element] = {}
        for descendant in root.iterdescendants():
            if (name := descendant.get("ID")) is not None:
                self._elements.setdefault(name, descendant)  # the first one where an id is used again
        self._words: dict[str, str | None] = {}

    def words(self, name: str) -> str | None:
        """What stands under an id, on one line; nothing where that is too much to be said of one thing."""
        if name not in self._words:
            element = self._elements.get(name)
            said = "" if element is None else _said_within(element, MAX_REFERRED_CHARACTERS)
            self._words[name] = said or None
        return self._words[name]


def _said_within(element: Element, limit: int) -> str:
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


def outer_of(element: Element) -> Element:
    """The act that holds an observation, or the observation itself where it stands alone."""
    for outer in element.iterancestors():
        if template(outer):
            return outer
        if outer is section_of(element):
            break
    return element


def concern_of(element: Element) -> str | None:
    """Whether the concern round an observation is still one."""
    return status_of(outer_of(element))


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
