"""Numbers as lists print them."""

from __future__ import annotations

ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        "m cm d cd c xc l xl x ix v iv i".split(),
        strict=True,
    )
)


def letters(number: int) -> str:
    """1 as a, 27 as aa.

    >>> letters(4), letters(28)
    ('d', 'ab')
    """
    text = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def roman(number: int) -> str:
    """4 as iv; a number that no list reaches stays a number.

    >>> roman(4), roman(2024)
    ('iv', 'mmxxiv')
    """
    if not 0 < number < 4000:
        return str(number)
    text = ""
    for value, sign in ROMAN:
        text += sign * (number // value)
        number %= value
    return text
