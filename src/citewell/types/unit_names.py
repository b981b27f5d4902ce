"""Numbers and units of results as people write them; what is stored stays as the laboratory sent it."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache

_UNIT_CODES = {
    "Cel": "°C",
    "1": "",
    "lbs": "lb",
    "THOUS": "×10³",
    "Thousand": "×10³",
    "thousand": "×10³",
    "X_10-3": "×10³",
    "MILL": "×10⁶",
    "Million": "×10⁶",
    "million": "×10⁶",
    "X_10-6": "×10⁶",
    "CELLS": "cells",
}
"""Codes, and what some laboratories write instead of them."""
_COUNTS = {"K": "×10³", "M": "×10⁶"}
"""Letters that mean a number only where cells are counted."""
_IN_BRACKETS = {
    "iU": "IU",
    "degF": "°F",
    "lb_av": "lb",
    "lb_us": "lb",
    "oz_av": "oz",
    "in_us": "in",
    "in_i": "in",
    "ft_us": "ft",
    "ft_i": "ft",
    "pH": "",
    "arb'U": "arbitrary units",
    "H2O": "H₂O",
    "drp": "drops",
    "tsp_us": "tsp",
    "tbs_us": "tbsp",
}
_ALONE = {"a": "years", "mo": "months", "wk": "weeks", "d": "days", "h": "hours"}
"""Times that are a result of their own."""
_BELOW = {"a": "year", "mo": "month", "wk": "week", "d": "day"}
"""Times that something is measured over."""
_LETTER_CASES = {
    plain.casefold(): plain
    for plain in ("L", "dL", "mL", "fL", "g", "mg", "kg", "pg", "ng", "mmol", "mEq", "U", "IU", "mIU", "cm", "mm", "kU")
}
_LETTER_CASES["mcl"] = "µL"
_POWERS = ("10*", "10^", "10+", "10E", "x10E", "X10E", "x10*", "x10^", "X10*")
_SUPERSCRIPT = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_MICRO = ("L", "l", "g", "m", "M", "U", "IU", "mol", "kat", "Eq", "Sv")
_UNCOUNTED = frozenset(
    {"beats", "beat", "breaths", "breath", "#", "count", "score", "ratio", "index", "number", "titer"}
)
"""Annotations that say what the name of the test says already."""
_KEPT = frozenset({"FEU", "DDU"})
"""Annotations without which a number means something else."""
_SURFACE = ("1.73_m2", "1.73m2", "1.73.m2", "1.73 m2")


@lru_cache(maxsize=1024)
def unit_name(code: str | None) -> str:
    """A unit as people write it; what only annotates is left out, and what is no code stays as it is.

    >>> [unit_name(code) for code in ("mm[Hg]", "Cel", "{score}", "kg/m2", "10*3/uL", "mL/min/{1.73_m2}", "mg/dL")]
    ['mmHg', '°C', '', 'kg/m²', '×10³/µL', 'mL/min/1.73 m²', 'mg/dL']
    >>> [unit_name(code) for code in ("K/uL", "u[IU]/mL", "{beats}/min", "ng/mL{FEU}", "G/DL", "mg/(24.h)", "/[HPF]")]
    ['×10³/µL', 'µIU/mL', '/min', 'ng/mL FEU', 'g/dL', 'mg/24 h', '/HPF']
    """
    written = " ".join((code or "").split())
    for surface in _SURFACE:
        written = written.replace(f"{{{surface}}}", "1.73 m²").replace(f"({surface})", "1.73 m²")
        written = written.replace(f"/{surface}", "/1.73 m²")
    if written in _ALONE:
        return _ALONE[written]
    upper, *below = written.split("/")
    under = [_BELOW.get(part, _term(part, is_alone=False)) for part in below]
    is_count = upper in _COUNTS and under in (["µL"], ["mm³"])
    above = _COUNTS[upper] if is_count else _term(upper, is_alone=True)
    return "/".join((above, *under)).removesuffix("/")


def amount(value: float, unit: str | None) -> str:
    """A number with its unit, both as people write them.

    >>> amount(36.6, "Cel"), amount(41.0, "%"), amount(3.0, "{score}"), amount(1.0, "h"), amount(0.0042, "ng/mL")
    ('36.6 °C', '41%', '3', '1 hour', '0.0042 ng/mL')
    """
    name = unit_name(unit)
    if value == 1 and name in _ALONE.values():
        name = name.removesuffix("s")
    return f"{number_name(value)}{'' if name in ('', '%') else ' '}{name}"


def number_name(value: float) -> str:
    """A number as it is said: two decimals, three where there are no more, and never an exponent.

    Of a small number two digits that tell.

    >>> number_name(77.4406), number_name(5.0), number_name(1.005), number_name(0.00042), number_name(1234567.0)
    ('77.44', '5', '1.005', '0.00042', '1234567')
    """
    digits = f"{value:.2g}" if abs(value) < 0.1 else f"{value:.3f}"
    if abs(value) >= 0.1 and abs(float(digits) - value) > 1e-9:
        digits = f"{value:.2f}"
    said = format(Decimal(digits), "f")
    return said.rstrip("0").rstrip(".") if "." in said else said


def _term(written: str, *, is_alone: bool) -> str:
    """What stands between two strokes, without its annotations."""
    bare, _, annotated = written.partition("{")
    annotation = annotated.partition("}")[0]
    if not annotation:
        inner = bare.removeprefix("(").removesuffix(")") if bare.startswith("(") and bare.endswith(")") else bare
        number, dot, unit = inner.partition(".")
        return f"{number} {_atom(unit)}" if dot and number.isdigit() and not unit[:1].isdigit() else _atom(inner)
    if annotation in _KEPT:
        return f"{_atom(bare)} {annotation}"
    is_word = annotation.replace("-", "").isalpha() and annotation.casefold() not in _UNCOUNTED
    return annotation if not bare and is_alone and is_word else _atom(bare)


def _atom(code: str) -> str:
    """One unit with its prefix and its power."""
    if code in _UNIT_CODES:
        return _UNIT_CODES[code]
    for power in _POWERS:
        if code.startswith(power) and code[len(power) :].isdigit():
            return f"×10{code[len(power) :].translate(_SUPERSCRIPT)}"
    begun, bracket, rest = code.partition("[")
    if bracket and rest.endswith("]"):
        inner = rest.removesuffix("]")
        code = begun + _IN_BRACKETS.get(inner, inner)
    if code[:1] == "u" and code[1:] in _MICRO:
        code = f"µ{code[1:]}"
    if code.removesuffix("2") in ("m", "cm", "mm", "dm") or code.removesuffix("3") in ("m", "cm", "mm", "dm"):
        return code[:-1] + code[-1:].translate(_SUPERSCRIPT)
    return _LETTER_CASES.get(code.casefold(), "µL" if code == "µl" else code)
