"""The twelve words that open a vault whose passphrase was forgotten (BIP39, English list)."""

from __future__ import annotations

import unicodedata

from mnemonic import Mnemonic

from citewell.errors import InputError

WORDS = 12
BITS = 128


def new_phrase() -> str:
    """Twelve random words; the last one also checks the others."""
    return Mnemonic("english").generate(BITS)


def read_phrase(typed: str) -> str:
    """The phrase as it was shown, whatever spaces and capitals it was typed with."""
    words = unicodedata.normalize("NFKD", typed).lower().split()
    known = Mnemonic("english")
    if len(words) != WORDS:
        raise InputError(f"Enter all {WORDS} recovery words in order; there are {len(words)}.")
    wrong = [position for position, word in enumerate(words, 1) if word not in known.wordlist]
    if wrong:
        places = ", ".join(str(position) for position in wrong)
        raise InputError(f"Check the spelling of word {places}: it is not a recovery word.")
    if not known.check(" ".join(words)):
        raise InputError("These are not matching recovery words. Check each word and their order.")
    return " ".join(words)
