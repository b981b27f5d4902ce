"""What the bodies of requests and of responses have in common."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
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


class ResponseBody(BaseModel):
    """A body that we send, read from a noun of the same field names; every field is there, null where it is empty."""

    model_config = ConfigDict(from_attributes=True, json_schema_serialization_defaults_required=True)


def _written_out(given: Any) -> Any:
    if isinstance(given, str) and given[4:8:3] != "--":
        raise PydanticCustomError("datetime_type", "a date begins as 2026-01-31")
    return given


Moment = Annotated[datetime, BeforeValidator(_written_out)]
"""A date and time as ISO 8601 writes it: of a bare number nobody could say whether it counts seconds."""


def rounded(digits: int) -> AfterValidator:
    """A number with so many decimal places."""
    return AfterValidator(partial(round, ndigits=digits))


SortedNames = Annotated[list[str], BeforeValidator(sorted)]
"""Names that have no order of their own."""
SectionPath = Annotated[str | None, BeforeValidator(lambda titles: " > ".join(titles) or None)]
"""The section that words stand in, after those round it."""
