"""What every body that someone sends shares."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=64)]
Tags = Annotated[list[Name] | None, Field(max_length=64)]
Id = Annotated[str, Field(max_length=64)]

SEEN = r"[^\s\x00-\x1f\x7f-\x9f]"
"""A text that shows something; four control characters are white space to us and not to those who check a schema."""

MAX_NUMBER = 2**31 - 1
"""The highest number that every store can hold."""

Revision = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
"""What a record's revision was when it was opened."""


class Sent(BaseModel):
    """A body that someone sends; fields that we do not know are refused, not dropped."""

    model_config = ConfigDict(extra="forbid")
