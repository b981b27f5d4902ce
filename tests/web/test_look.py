"""The look keeps its promises: contrast, size, nothing from elsewhere, nothing inline."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from citewell import web

WEB = Path(web.__file__).parent
STYLE = (WEB / "static" / "citewell.css").read_text()
FILES = sorted([*(WEB / "static").iterdir(), *(WEB / "templates").iterdir()])

TEXT_PAIRS = [
    *[(ink, ground) for ink in ("ink", "ink-soft", "accent") for ground in ("paper", "surface", "sunken")],
    *[(status, ground) for status in ("good", "busy", "bad", "wait") for ground in ("paper", "surface")],
    *[("ink", f"{status}-soft") for status in ("good", "busy", "bad", "wait")],
    *[(status, "accent-soft") for status in ("good", "busy", "bad", "wait")],
    *[("ink", "mark"), ("ink", "accent-soft"), ("ink-soft", "accent-soft"), ("accent", "accent-soft")],
    *[("accent-strong", "accent-soft"), ("on-accent", "accent"), ("on-accent", "accent-strong"), ("paper", "bad")],
]


def colours(*, dark: bool) -> dict[str, str]:
    pairs = re.findall(r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);", STYLE)
    return {name: pair[dark] for name, *pair in pairs}


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_computed_as_the_standard_says() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(("ink", "ground"), TEXT_PAIRS)
def test_text_can_be_read_on_its_ground(ink: str, ground: str, dark: bool) -> None:
    named = colours(dark=dark)
    assert contrast(named[ink], named[ground]) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_the_edge_of_a_field_can_be_seen(dark: bool) -> None:
    named = colours(dark=dark)
    assert min(contrast(named["line-strong"], named[ground]) for ground in ("paper", "surface")) >= 3


def test_the_scripts_are_small() -> None:
    assert sum(path.stat().st_size for path in FILES if path.suffix == ".js") < 60_000


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere_and_nothing_is_inline(path: Path) -> None:
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"(?:https?:)?//[\w.-]+\.\w", text)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?![^>]*\ssrc=)", text)
    assert "| safe" not in text


def test_spacing_goes_in_steps_of_four() -> None:
    sizes = re.findall(r"--s\d+: (\d+)px", STYLE)
    assert sizes
    assert all(int(size) % 4 == 0 for size in sizes)


@pytest.mark.parametrize("path", [one for one in FILES if one.suffix == ".html"], ids=lambda path: path.name)
def test_no_box_for_words_cuts_what_is_pasted(path: Path) -> None:
    assert path.name == "sign_in.html" or "maxlength" not in path.read_text()
