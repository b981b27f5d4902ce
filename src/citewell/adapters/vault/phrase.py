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
        raise InputError(f"A recovery phrase has {WORDS} words; this has {len(words)}. Copy all of them, in order.")
    wrong = [position for position, word in enumerate(words, 1) if word not in known.wordlist]
    if wrong:
        places = ", ".join(str(position) for position in wrong)
        raise InputError(f"Check the spelling of word {places}: no recovery phrase holds it.")
    if not known.check(" ".join(words)):
        raise InputError("These twelve words do not belong together. Check their order and each word.")
    return " ".join(words)
