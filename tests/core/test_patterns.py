"""No pattern takes more than a linear number of steps, whatever text it is held against."""

from __future__ import annotations

import platform
import re
import sys
import threading
from pathlib import Path

import pytest

from tests import regex_steps
from tests.once import Computed, kept_folder
from tests.patterns import UsedPattern, used_patterns
from tests.regex_steps import Steps, Use, growth

PARTS = 24
"""The patterns are held against texts in so many tests."""
STACK_BYTES = 256 << 20


def growing(patterns: list[UsedPattern]) -> dict[str, str]:
    """The patterns that grow, each with a text on which it does; on a thread whose stack is deep enough.

    A pattern that was looked at before is not looked at again until the matcher that counts its steps changes.
    """
    found: dict[str, str] = {}
    computed = Computed(kept_folder("patterns", Path(regex_steps.__file__)), platform.python_version())

    def look() -> None:
        for used in patterns:
            key = f"{used.use} {used.pattern.flags} {used.pattern.pattern}".encode("utf-8", "surrogatepass")
            text = computed.get(key)
            if text is None:
                text = (growth(used.pattern, used.use) or "").encode()
                computed.keep({key: text})
            if text:
                found[used.names[0]] = text.decode()

    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
        computed.close()
    return found


@pytest.mark.slow
@pytest.mark.timeout(1_500)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_pattern_grows_faster_than_its_text(part: int) -> None:
    assert growing(list(used_patterns()[part::PARTS])) == {}


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s+x", "find"),
        (r"(a|a)*b", "match"),
        (r"\d+\s*,?\s*mg", "find"),
        (r"\bnot\b.*\bsafe\b", "find"),
        (r"([a-z]+)+!", "match"),
    ],
)
def test_what_grows_is_seen(pattern: str, use: Use) -> None:
    assert growing([UsedPattern(re.compile(pattern), ("made",), use)])


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"(?<!\s)\s+x", "find"),
        (r"\s*x", "match"),
        (r"\d++(?:\.\d++)?mg", "match"),
        (r"\bnot\b.{0,80}\bsafe\b", "find"),
    ],
)
def test_what_is_linear_passes(pattern: str, use: Use) -> None:
    assert not growing([UsedPattern(re.compile(pattern), ("made",), use)])


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?P<q>['\"]).*?(?P=q)|\b[a-c]+(?=\d)", "x 'a' \"b\" abc1 abc"),
        (r"(?>a+)b|(?<=x)\w{2,3}?|^z$", "aaab xyyy z"),
        (r"(?i)MG|(?:\d{1,3}(?:,\d{3}){1,6}|\d++)(?:\.\d+)?", "1,500 mg 20.5 Mg"),
    ],
)
def test_the_counting_matcher_finds_what_re_finds(pattern: str, text: str) -> None:
    compiled = re.compile(pattern)
    spans = [match.span() for match in compiled.finditer(text)]
    before = sys.getrecursionlimit()
    assert Steps(compiled).spans(text) == spans
    assert sys.getrecursionlimit() == before
