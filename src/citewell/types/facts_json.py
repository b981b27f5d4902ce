"""Facts as JSON and back: what does not fit is an error, never a default."""

from __future__ import annotations

import types
import typing
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from citewell.errors import InputError
from citewell.types.facts import KINDS, Fact, Moment


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact as JSON, with its kind; what is not known is left out."""
    told = _plain(fact)
    assert isinstance(told, dict)
    return {"kind": fact.kind, **told}


def read_fact(told: dict[str, Any]) -> Fact:
    """A fact from JSON; an unknown field or value is refused."""
    kind = KINDS.get(str(told.get("kind")))
    if kind is None:
        raise InputError(f"A fact is one of {', '.join(KINDS)}.")
    found = _read(kind, {name: value for name, value in told.items() if name != "kind"}, "fact")
    assert isinstance(found, Fact)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Moment):
        return value.text
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((one.name, getattr(value, one.name)) for one in fields(value))
        return {name: _plain(held) for name, held in pairs if held is not None and held != ()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read(kind: Any, told: Any, where: str) -> Any:
    """One value of the type that a field has."""
    if typing.get_origin(kind) is types.UnionType:  # only ever “something or nothing”
        inner = next(one for one in typing.get_args(kind) if one is not type(None))
        return None if told is None else _read(inner, told, where)
    if typing.get_origin(kind) is tuple:
        if not isinstance(told, list):
            raise _wrong(where)
        return tuple(_read(typing.get_args(kind)[0], one, where) for one in told)
    if isinstance(kind, type) and issubclass(kind, Enum):
        try:
            return kind(told)
        except ValueError as error:
            raise InputError(f"{where} is one of {', '.join(str(one.value) for one in kind)}.") from error
    if is_dataclass(kind):
        return Moment(str(told)) if kind is Moment else _read_dataclass(kind, told, where)
    if kind is float and isinstance(told, int) and not isinstance(told, bool):
        return float(told)
    if not isinstance(told, kind) or (kind is int and isinstance(told, bool)):
        raise _wrong(where)
    return told


def _read_dataclass(kind: Any, told: Any, where: str) -> Any:
    known = {one.name for one in fields(kind) if one.init}
    if not isinstance(told, dict) or not set(told) <= known:
        raise _wrong(where)
    try:
        return kind(**{name: _read(_hints(kind)[name], value, name) for name, value in told.items()})
    except TypeError as error:
        raise _wrong(where) from error


def _wrong(where: str) -> InputError:
    return InputError(f"What is given for {where} cannot be used. Check it against the fields in docs/records.md.")
