"""What every body that someone sends shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from citewell.unknown_fields import unknown_fields

Name = Annotated[str, Field(min_length=1, max_length=64)]
Tags = Annotated[list[Name] | None, Field(max_length=64)]
Id = Annotated[str, Field(max_length=64)]

SEEN = r"[^\s\x00-\x1f\x7f-\x9f]"
"""A text that shows something; four control characters are white space to us and not to those who check a schema."""

MAX_NUMBER = 2**31 - 1
"""The highest number that every store can hold."""

Revision = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
"""What a record's revision was when it was opened."""


UNKNOWN_FIELD = "unknown_field"
"""The kind of error that says in a sentence which field is not known."""


class RequestBody(BaseModel):
    """A body that someone sends; fields that we do not know are refused, not dropped."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        if isinstance(given, Mapping) and cls.model_config.get("extra") == "forbid":
            known = [field.alias or name for name, field in cls.model_fields.items()]
            if wrong := unknown_fields(given, known):
                raise PydanticCustomError(UNKNOWN_FIELD, "{told}", {"told": wrong})
        return given
