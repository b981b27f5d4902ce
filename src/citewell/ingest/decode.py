"""Turns the bytes of a text file into clean characters."""

from __future__ import annotations

import codecs
import re
import unicodedata

from citewell.errors import DamagedFile, UnsupportedFile

BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The UTF-32 mark comes before the UTF-16 one because it begins with the same two bytes."""

WINDOWS_NOTE = "The text is not UTF-8 and was read as windows-1252. Check accented letters and symbols."
MIXED_NOTE = "Some bytes were not UTF-8 and were read as windows-1252. Check accented letters and symbols."

_CONTROLS = bytes(set(range(0x20)) - set(b"\t\n\v\f\r\x1b")) + b"\x7f"
_MAX_CONTROL_SHARE = 0.002
_UNWANTED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
_LONE = re.compile("[\udc80-\udcff]")


def decode(data: bytes) -> tuple[str, str | None]:
    """The characters of a text file, and a note when its encoding had to be guessed.

    >>> decode("5 µg".encode("utf-16"))
    ('5 µg', None)
    >>> decode(b"5 \\xb5g")[0]
    '5 µg'
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return _strict(data[len(mark) :], encoding), None
    if b"\0" in data:
        return _strict(data, _wide_encoding(data)), None
    if len(data.translate(None, _CONTROLS)) < len(data) * (1 - _MAX_CONTROL_SHARE):
        raise UnsupportedFile(
            "The file contains binary data, not text. Add it as PDF, DOCX, HTML, XML, Markdown or plain text."
        )
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError:
        return _guess(data)


def clean(text: str) -> str:
    """Characters that can be stored and shown: composed, without controls, soft hyphens or invisible marks.

    >>> clean("do\\u00adse\\x00 5\\u200b mg")
    'dose 5 mg'
    """
    if text.isascii() and text.isprintable():
        return text
    return unicodedata.normalize("NFC", _UNWANTED.sub("", text))


def _strict(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DamagedFile(
            f"The file claims to be {encoding.upper()} text but is not, or was cut short. Save it again as UTF-8."
        ) from error


def _wide_encoding(data: bytes) -> str:
    """UTF-16 without a mark shows as NUL bytes on one side of each pair; any other NUL means binary data."""
    head = data[: 64 * 1024]
    even, odd = head[::2].count(0), head[1::2].count(0)
    pairs = max(1, len(head) // 2)
    if len(data) % 2 == 0 and odd > 0.3 * pairs and even < 0.02 * pairs:
        return "utf-16-le"
    if len(data) % 2 == 0 and even > 0.3 * pairs and odd < 0.02 * pairs:
        return "utf-16-be"
    raise UnsupportedFile(
        "The file is damaged, or of another kind than its name says. Save it again as PDF, Word or text."
    )


def _guess(data: bytes) -> tuple[str, str]:
    """UTF-8 with a few strays stays UTF-8; anything else is windows-1252."""
    text = data.decode("utf-8", errors="surrogateescape")
    strays = len(_LONE.findall(text))
    wide = sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) - strays
    if wide > strays:
        return _LONE.sub(lambda match: _windows(bytes([ord(match.group()) - 0xDC00])), text), MIXED_NOTE
    return _windows(data), WINDOWS_NOTE


def _windows(data: bytes) -> str:
    # Five bytes mean nothing in windows-1252.
    return data.translate(None, b"\x81\x8d\x8f\x90\x9d").decode("cp1252")
