"""A list that is read a part at a time: how much of it, and after what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

from citewell.history import PAGE_LENGTH

MAX_LENGTH = 500


@dataclass(frozen=True, slots=True)
class PageQuery:
    """Which part of a list was asked for."""

    limit: int
    after: str | None


def _page_query(
    limit: Annotated[int, Query(ge=1, le=MAX_LENGTH, description="Maximum number to return.")] = PAGE_LENGTH,
    after: Annotated[str | None, Query(max_length=100, description="The `next` value from the previous page.")] = None,
) -> PageQuery:
    return PageQuery(limit, after or None)


Paging = Annotated[PageQuery, Depends(_page_query)]
