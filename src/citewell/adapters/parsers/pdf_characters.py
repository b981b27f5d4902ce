"""Cleans the characters that PDF fonts give: ligatures, soft hyphens, symbol fonts, superscripts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_SYMBOLS = {
    "\uf0b7": "•", "\uf0a7": "▪", "\uf076": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf02d": "–", "\uf0a3": "≤",
    "\uf0b3": "≥", "\uf0b1": "±", "\uf0b4": "×", "\uf0b0": "°", "\uf06d": "μ", "\uf061": "α", "\uf062": "β",
    "\uf067": "γ", "\uf064": "δ", "\uf044": "Δ", "\uf0ae": "→", "\uf0ad": "↑", "\uf0af": "↓", "\uf03c": "<",
    "\uf03e": ">", "\uf03d": "=", "\uf02b": "+", "\uf06f": "o", "\u2010": "-", "\u2011": "-", "\uff0d": "–",
    "\ufb05": "st",
}  # fmt: skip
"""Private codes that the Symbol and Wingdings fonts use for characters that have codes of their own."""

_DROPPED = frozenset("\ufffe\uffff\ufeff\u200b\u200c\u200d\u2060\u200e\u200f")
_SUPERSCRIPTS = str.maketrans("0123456789+-−=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_TAKES_POWER = re.compile(r"(?:\d|[⁺⁻]|(?<![^\W\d_])(?:[A-Zμµ]|[cdkmnµμ]?m|kg|s|h|min|[A-Z][a-z]))$")
"""What a raised number belongs to: a number, a unit, a single letter such as I² or R², an ion such as Ca²⁺."""


SOFT_HYPHEN = "\N{SOFT HYPHEN}"


def clean(text: str) -> str:
    """One glyph's text as it is kept; empty for what no reader sees.

    >>> clean("\\ufb01"), clean("\\xad"), clean("\\uf0b7"), clean("\\x00")
    ('fi', '\\xad', '•', '')
    """
    if text.isascii():
        return text if text.isprintable() else ""
    if text in _DROPPED:
        return ""
    if text in _SYMBOLS:
        return _SYMBOLS[text]
    if "\ufb00" <= text <= "\ufb06":
        return unicodedata.normalize("NFKC", text)
    invisible = unicodedata.category(text) in ("Cc", "Cf") and text != SOFT_HYPHEN
    return "" if invisible else text


def takes_power(before: str) -> bool:
    """Whether a raised number after these characters is a power or a charge rather than the mark of a note.

    >>> takes_power("1.73 m"), takes_power("10"), takes_power("tablets")
    (True, True, False)
    """
    return bool(_TAKES_POWER.search(before))


def raised(characters: Sequence[str], *, before: str) -> list[str]:
    """Raised characters as superscripts, set off by a space where they mark a note rather than a power.

    >>> raised(["9"], before="10"), raised(["1", "2"], before="shown"), raised(["t", "h"], before="19")
    (['⁹'], [' ¹', '²'], ['t', 'h'])
    """
    run = "".join(characters)
    if run in _ORDINALS or not run:
        return list(characters)
    written = [text.translate(_SUPERSCRIPTS) for text in characters]
    set_off = before and not before[-1].isspace() and before[-1] not in "([" and not takes_power(before)
    if set_off and run[0].isalnum() and "".join(written) != run:
        written[0] = f" {written[0]}"
    return written
