"""Takes the name of a product apart: what is in it, how much, under which brand, and how it is given."""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.types.facts import Ingredient

_AMOUNT = r"\d[\d.,]*\s*(?:mg|mcg|ug|µg|g|ml|unt|units?|iu|meq|mmol|%)(?:/(?:\d[\d.]*\s*)?[a-z]+)?"
_PART = re.compile(rf"(?P<name>.+?)(?<!\s)\s++(?P<amount>{_AMOUNT})(?=\s|$)(?P<form>.*)", re.IGNORECASE)
_LEADING = re.compile(r"^\d[\d.]*\s+(?:hr|ml|actuat|day|month)\s+", re.IGNORECASE)
_BRAND = re.compile(r"(?:(?<!\s)\s+)?\[([^\]]{1,300})\]\s*+$")
_ROUTES = frozenset(
    """oral topical nasal rectal vaginal transdermal ophthalmic otic injectable inhalant sublingual buccal
    mucosal""".split()
)


@dataclass(frozen=True, slots=True)
class Product:
    """What a product's name says."""

    generic_name: str
    brand_name: str | None
    dose: str | None
    route: str | None
    ingredients: tuple[Ingredient, ...]


def read_product(written: str) -> Product:
    """The parts of a name as RxNorm writes it; a plain name stays as it is.

    >>> read_product("Acetaminophen 325 MG / HYDROcodone Bitartrate 7.5 MG Oral Tablet [Norco]")
    ... # doctest: +NORMALIZE_WHITESPACE
    Product(generic_name='Acetaminophen / HYDROcodone Bitartrate', brand_name='Norco', dose='325 mg / 7.5 mg',
            route='oral', ingredients=(Ingredient(name='Acetaminophen', strength='325 mg'),
                                       Ingredient(name='HYDROcodone Bitartrate', strength='7.5 mg')))
    >>> read_product("24 HR Metformin hydrochloride 500 MG Extended Release Oral Tablet").dose
    '500 mg'
    >>> read_product("insulin human, isophane").generic_name
    'insulin human, isophane'
    """
    brand = _BRAND.search(written)
    rest = _LEADING.sub("", _BRAND.sub("", written))
    matches = [_PART.fullmatch(part.strip()) for part in rest.split(" / ")]
    found = [match for match in matches if match is not None]
    if len(found) != len(matches):
        return Product(rest, brand.group(1) if brand else None, None, None, ())
    ingredients = tuple(Ingredient(match["name"], _amount(match["amount"])) for match in found)
    form = found[-1]["form"].lower().split()
    return Product(
        generic_name=" / ".join(ingredient.name for ingredient in ingredients),
        brand_name=brand.group(1) if brand else None,
        dose=" / ".join(ingredient.strength or "" for ingredient in ingredients),
        route=next((word for word in form if word in _ROUTES), None),
        ingredients=ingredients,
    )


def _amount(written: str) -> str:
    return " ".join(re.sub(r"(?<=\d)(?=[a-zµ%])", " ", written.lower()).split())
