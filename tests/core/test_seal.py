"""The seal: words are unreadable without the key, and no record can stand in for another."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.adapters.store.encryption import KEY_FILE, TextCipher
from citewell.errors import LibraryError


@given(st.text(), st.text())
def test_what_is_sealed_opens_again(text: str, about: str) -> None:
    seal = TextCipher(bytes(32))
    assert seal.open(seal.close(text, about=about), about=about) == text


def test_the_words_are_not_in_what_is_stored() -> None:
    sealed = TextCipher(bytes(32)).close("haematuria aged 60", about="message:1")
    assert b"haematuria" not in sealed
    assert sealed != TextCipher(bytes(32)).close("haematuria aged 60", about="message:1")


def test_a_changed_moved_or_foreign_record_does_not_open() -> None:
    seal = TextCipher(bytes(32))
    sealed = seal.close("words", about="answer:1")
    flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for wrong, about in ((flipped, "answer:1"), (sealed, "answer:2"), (sealed[:20], "answer:1"), (b"", "answer:1")):
        with pytest.raises(LibraryError, match=r"could not be opened"):
            seal.open(wrong, about=about)
    with pytest.raises(LibraryError, match=KEY_FILE):
        TextCipher(b"1" * 32).open(sealed, about="answer:1")


def test_a_fingerprint_tells_the_same_words_and_cannot_be_made_without_the_key() -> None:
    seal, other = TextCipher(bytes(32)), TextCipher(b"1" * 32)
    assert seal.fingerprint("yes") == TextCipher(bytes(32)).fingerprint("yes")
    prints = {seal.fingerprint("yes"), seal.fingerprint("no"), other.fingerprint("yes"), sha256(b"yes").hexdigest()}
    assert len(prints) == 4


def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    sealed = TextCipher.of(tmp_path).close("words", about="x")
    assert TextCipher.of(tmp_path).open(sealed, about="x") == "words"
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


def test_a_draft_that_was_left_behind_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / KEY_FILE).with_suffix(f".{os.getpid()}").write_bytes(b"half a key")
    sealed = TextCipher.of(tmp_path).close("words", about="x")
    assert TextCipher.of(tmp_path).open(sealed, about="x") == "words"


@pytest.mark.parametrize("key", [b"", b"short", b"x" * 31])
def test_a_damaged_key_is_told_in_plain_words(tmp_path: Path, key: bytes) -> None:
    (tmp_path / KEY_FILE).write_bytes(key)
    with pytest.raises(LibraryError, match=KEY_FILE):
        TextCipher.of(tmp_path)
