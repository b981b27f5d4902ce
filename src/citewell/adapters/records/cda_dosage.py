"""How a C-CDA medicine is taken: how much at a time, how often, and what the prescription says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.adapters.parsers.markup_flow import child_named, children_named
from citewell.adapters.records.cda_values import (
    MAX_REFERRED_CHARACTERS,
    Element,
    attribute,
    number,
    referred_within,
    said_within,
    says_nothing,
    templated,
)
from citewell.adapters.records.dosage_words import COUNTED, EVENTS, UNITS, dose_and_count
from citewell.adapters.records.fhir_values import how_often
from citewell.adapters.records.product_names import Product

FREE_TEXT_SIG = "147"
_REASON = re.compile(
    r"(?:^|; )(?:diagnos[ei]s|indications?|reason(?: for (?:use|taking))?|(?:taken|used) for):[; ]*"
    r"(?P<said>[^;\n]{3,80})",
    re.IGNORECASE,
)
"""The column of a line that says what a medicine is for."""
PERIODS = frozenset({"h", "d", "wk", "min", "mo"})
_PIECE = re.compile(r"\b(?:tablet|capsule|suppository|patch|lozenge)\b", re.IGNORECASE)
MOST_PIECES = 10
"""More at a time than anybody takes: a number above it is an amount without its unit."""
_UNIT = re.compile(r"[A-Za-zµ]{1,12}")
_HOW = re.compile(
    r"\b(?:take|takes|inhale|inject|apply|instill|chew|dissolve|daily|nightly|weekly|monthly|hourly|every|once|twice|"
    r"times|bedtime|morning|evening|night|meals?|breakfast|prn|as needed|as directed|"
    r"q?hs|q[ad]m|qpm|q\s?\d+\s?h\w*|qd|qod|[btq]\.?i\.?d(?:\.?ac|\.?pc)?)\b",
    re.IGNORECASE,
)
"""Words that say how a medicine is taken, and not only which it is."""
_COLUMN = re.compile(
    r"(?:^|; )(?:(?:patient |dosing )?(?:sig|directions?|instructions?)): (?P<said>.+?)(?=; [^:;]+: |$)", re.IGNORECASE
)


def dose_of(element: Element, product: Product, name: str) -> tuple[str | None, str | None]:
    """How much is taken at a time, and how many are where a strength is that of one; no strength of a fluid is a dose.

    The guide has a bare number count the products: 2 of a tablet.
    """
    quantity = child_named(element, "doseQuantity")
    told = None if quantity is None else _many(quantity)
    unit = (_unit(element, quantity) or _pieces(quantity, product, name)) if told else None
    return dose_and_count(product, told, unit)


def _many(quantity: Element) -> str | None:
    bounds = [number(child_named(quantity, "low")), number(child_named(quantity, "high"))]
    values = [number(quantity)] if quantity.get("value") else bounds
    return " to ".join(f"{value:.10g}" for value in values if value) if all(values) else None


def _unit(element: Element, quantity: Element | None) -> str | None:
    """The unit of a dose: its own, in the words of its translation, or what is counted."""
    low = child_named(quantity, "low")
    written = (attribute(quantity, "unit") or attribute(low, "unit") or "1").strip("{}").removesuffix("(s)")
    if written != "1":
        known = UNITS.get(written.casefold(), written)
        return known if _UNIT.fullmatch(known) else None
    for translation in children_named(quantity, "translation"):
        words = child_named(translation, "originalText")
        said = "" if words is None else said_within(words, MAX_REFERRED_CHARACTERS).removesuffix("(s)")
        if _UNIT.fullmatch(said):
            return UNITS.get(said.casefold(), said)
    form = attribute(child_named(element, "administrationUnitCode"), "displayName") or ""
    counted = COUNTED.search(form)
    return counted.group().lower() if counted else None


def _pieces(quantity: Element | None, product: Product, name: str) -> str | None:
    """What a bare number counts: the pieces that a product comes in, unless it repeats their strength."""
    value, form = number(quantity), _PIECE.search(name)
    strengths = " ".join(part.strength or "" for part in product.ingredients).split()
    is_count = value is not None and value <= MOST_PIECES and f"{value:g}" not in strengths
    return form.group().lower() if form and is_count and (attribute(quantity, "unit") or "1") == "1" else None


def frequency_of(element: Element) -> str | None:
    """How often, and at which events of the day."""
    times = list(_times(element))
    told = [_every(child_named(time, "period")) for time in times]
    told += [EVENTS.get(attribute(child_named(time, "event"), "code") or "") for time in times]
    return ", ".join(dict.fromkeys(one for one in told if one)) or None


def _times(element: Element) -> Iterator[Element]:
    for time in children_named(element, "effectiveTime"):
        yield time
        yield from children_named(time, "comp")


def _every(period: Element | None) -> str | None:
    low, high = child_named(period, "low"), child_named(period, "high")
    every, most, unit = number(period) or number(low), number(high), attribute(period, "unit") or attribute(low, "unit")
    if not every or unit not in PERIODS:
        return None
    if most and most != every:
        longest = how_often({"repeat": {"period": most, "periodUnit": unit}}) or ""
        return longest.replace("every ", f"every {every:g} to ", 1)
    if (every, unit) == (24, "h"):
        every, unit = 1, "d"
    return how_often({"repeat": {"period": every, "periodUnit": unit}})


def instructions_of(element: Element, line: str, count: str | None) -> str | None:
    """What the prescription says: its own text, that of the entry, or the column of its line."""
    sigs = [child_named(one, "text") for one in templated(element, FREE_TEXT_SIG)]
    column = _COLUMN.search(line)
    said = [*_words(sigs), *(words for words in _words([child_named(element, "text")]) if _HOW.search(words))]
    said += [column["said"]] if column and not says_nothing(column["said"]) else []
    sig = next(iter(said), None)
    is_counted = count is None or (sig is not None and count.casefold() in sig.casefold())
    return "; ".join(part for part in (None if is_counted else count, sig) if part) or None


def _words(texts: list[Element | None]) -> Iterator[str]:
    for text in texts:
        if text is not None:
            for words in (said_within(text, MAX_REFERRED_CHARACTERS), referred_within(text)):
                if words and not says_nothing(words):
                    yield words


def reason_in(line: str) -> str | None:
    """What a line says that a medicine is for, in a column or behind a label of its own.

    >>> reason_in("Imitrex 25 MG; Diagnosis:; Migraine Headache, Unspecified"), reason_in("Name: Lasix; Indications: ")
    ('Migraine Headache, Unspecified', None)
    """
    column = _REASON.search(line)
    said = column["said"].strip(" .;-") if column else ""
    return said if said and ":" not in said and not says_nothing(said) else None
