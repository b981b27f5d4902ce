"""Facts as JSON and back: what does not fit is an error, never a default."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from typing import Any

from citewell.errors import InputError
from citewell.types.facts import KINDS, Fact, PartialDate


def fact_json(fact: Fact) -> dict[str, Any]:
    """A fact as JSON, with its kind; what is not known is left out."""
    entry = _plain(fact)
    assert isinstance(entry, dict)
    return {"kind": fact.kind, **entry}


def read_fact(entry: dict[str, Any]) -> Fact:
    """A fact from JSON; an unknown field or value is refused."""
    kind: Any = KINDS.get(str(entry.get("kind")))
    if kind is None:
        raise InputError(f"The kind of a fact must be one of {', '.join(KINDS)}.")
    fact = _reader(kind)({name: value for name, value in entry.items() if name != "kind"}, "fact")
    assert isinstance(fact, Fact)
    return fact


def _plain(value: Any) -> Any:
    if isinstance(value, PartialDate):
        return value.text
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        pairs = ((field.name, getattr(value, field.name)) for field in fields(value))
        return {name: _plain(held) for name, held in pairs if held is not None and held != ()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value


Read = Callable[[Any, str], Any]
"""Reads one value, and knows which field it is for."""


@cache
def _reader(kind: Any) -> Read:
    """What reads a value of the type that a field has; made once for each type, since records have many facts."""
    if typing.get_origin(kind) is types.UnionType:  # only ever “something or nothing”
        inner = _reader(next(arg for arg in typing.get_args(kind) if arg is not type(None)))
        return lambda told, where: None if told is None else inner(told, where)
    if typing.get_origin(kind) is tuple:
        return partial(_read_list, _reader(typing.get_args(kind)[0]))
    if kind is PartialDate:
        return lambda told, _where: PartialDate(str(told))
    if issubclass(kind, Enum):
        return partial(_read_enum, kind)
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return partial(
            _read_dataclass, kind, {field.name: _reader(hints[field.name]) for field in fields(kind) if field.init}
        )
    return partial(_read_plain, kind)


def _read_list(inner: Read, told: Any, where: str) -> Any:
    if not isinstance(told, list):
        raise _wrong(where)
    return tuple(inner(one, where) for one in told)


def _read_enum(kind: type[Enum], told: Any, where: str) -> Any:
    try:
        return kind(told)
    except ValueError as error:
        raise InputError(f"{where} must be one of {', '.join(str(one.value) for one in kind)}.") from error


def _read_plain(kind: type, told: Any, where: str) -> Any:
    if kind is float and isinstance(told, int) and not isinstance(told, bool):
        return float(told)
    if not isinstance(told, kind) or (kind is int and isinstance(told, bool)):
        raise _wrong(where)
    return told


def _read_dataclass(kind: Any, readers: Mapping[str, Read], entry: Any, where: str) -> Any:
    if not isinstance(entry, dict) or not entry.keys() <= readers.keys():
        raise _wrong(where)
    try:
        return kind(**{name: readers[name](value, name) for name, value in entry.items()})
    except TypeError as error:
        raise _wrong(where) from error


def _wrong(where: str) -> InputError:
    return InputError(f"The value for {where} is not valid. Check it against the fields in docs/records.md.")
