"""Typed tools for a model: each reply is held against its schema and the message, asked for once more, or left."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from citewell.errors import ModelReply
from citewell.ports import Model, Prompt
from citewell.prompts import Template
from citewell.types import Message
from citewell.types.consult import CONFIDENCES, Category, Polarity

FOLDER = Path(__file__).parent / "prompts"
MAX_FINDINGS = 30
MAX_DIFFERENTIALS = 5
AGAIN = "That could not be used: {why} Reply again, with JSON that follows the schema and nothing else."
BROKEN = "The model was asked twice for {tool}, but neither reply could be used ({why})."
T = TypeVar("T")


TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}


def _one_of(*words: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(words)}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with all of these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _list_of(name: str, properties: Mapping[str, Any], **limits: int) -> dict[str, Any]:
    """An object that holds a list of objects under one name."""
    return _object({name: {"type": "array", **limits, "items": _object(properties)}})


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a model is given: its name, its rules and the schema of what it sends."""

    name: str
    rules: Template
    schema: Mapping[str, Any]


RECORD_FINDINGS = Tool(
    "record_findings",
    Template.read(FOLDER / "findings.txt"),
    _list_of(
        "findings",
        {
            "quote": TEXT,
            "name": TEXT,
            "category": _one_of(*(one.value for one in Category if one is not Category.DEMOGRAPHIC)),
            "polarity": _one_of(*(polarity.value for polarity in Polarity)),
        },
        maxItems=MAX_FINDINGS,
    ),
)
COLLECT_DEMOGRAPHICS = Tool(
    "collect_demographics",
    Template.read(FOLDER / "demographics.txt"),
    _list_of("stated", {"what": _one_of("age", "sex", "pregnancy"), "quote": TEXT}, maxItems=4),
)
GENERATE_DIFFERENTIALS = Tool(
    "generate_differentials",
    Template.read(FOLDER / "differentials.txt"),
    _list_of(
        "differentials",
        {"condition": TEXT, "confidence": _one_of(*CONFIDENCES), "for": TEXTS, "against": TEXTS},
        minItems=1,
        maxItems=MAX_DIFFERENTIALS,
    ),
)


@dataclass(frozen=True, slots=True)
class Caller:
    """A model with its limits."""

    model: Model
    window: int
    reply: int


def call(caller: Caller, tool: Tool, text: str, *, check: Callable[[Any], T]) -> T:
    """What the tool was called with, checked; a second try is told what was wrong with the first."""
    messages: list[Message] = [Message("user", text)]
    why = ""
    for _ in range(2):
        prompt = Prompt(tool.rules.text, tuple(messages), caller.reply, caller.window, tool.schema)
        try:
            said = "".join(caller.model.stream(prompt))
            return check(_checked(json.loads(said), tool.schema))
        except (ValueError, RecursionError, ModelReply) as error:
            why = str(error) if isinstance(error, ModelReply | MalformedReply) else "it was not JSON."
            messages = [Message("user", text), Message("user", AGAIN.format(why=why))]
    raise ModelReply(BROKEN.format(tool=tool.name, why=why.rstrip(".")))


class MalformedReply(ValueError):
    """A reply that does not follow its schema, or names words that are not there."""


_UNREADABLE = frozenset({"Cc", "Cs", "Co", "Cn"})
"""Halves of characters and characters that are none; they could be neither shown nor sent."""
_KINDS: Mapping[str, type] = {"object": dict, "array": list, "string": str}


def _checked(value: Any, schema: Mapping[str, Any], place: str = "the reply") -> Any:
    """The value, if it follows the part of JSON schema that the tools use."""
    kind = schema["type"]
    is_fitting = isinstance(value, _KINDS[kind])
    if not is_fitting:
        raise MalformedReply(f"{place} is no {kind}.")
    if kind == "object":
        properties = schema["properties"]
        if missing := [name for name in schema["required"] if name not in value]:
            raise MalformedReply(f"{place} lacks {', '.join(missing)}.")
        if unknown := [name for name in value if name not in properties]:
            raise MalformedReply(f"{place} has {', '.join(unknown[:3])}, which the schema does not.")
        for name, one in value.items():
            _checked(one, properties[name], name)
    elif kind == "array":
        if len(value) > schema.get("maxItems", len(value)) or len(value) < schema.get("minItems", 0):
            raise MalformedReply(f"{place} has {len(value)} entries.")
        for one in value:
            _checked(one, schema["items"], place)
    elif "enum" in schema and value not in schema["enum"]:
        raise MalformedReply(f"{place} is none of {', '.join(schema['enum'])}.")
    elif kind == "string" and (not value.strip() or any(map(_is_unreadable, value))):
        raise MalformedReply(f"{place} is empty, or has unreadable characters.")
    return value


def _is_unreadable(one: str) -> bool:
    return unicodedata.category(one) in _UNREADABLE and not one.isspace()
