"""What every body that someone sends shares."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=64)]
Tags = Annotated[list[Name] | None, Field(max_length=64)]
Id = Annotated[str, Field(max_length=64)]


class Sent(BaseModel):
    """A body that someone sends; fields that we do not know are refused, not dropped."""

    model_config = ConfigDict(extra="forbid")
