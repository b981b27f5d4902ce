"""Lists that are read a part at a time, in an order that does not shift while someone reads on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, and_, or_

from citewell.errors import NotFound
from citewell.history import HistoryPage

T = TypeVar("T")

NO_SUCH_PAGE = "There is no such page of the list. Start again without `after`."


def after(cursor: str, rank: ColumnElement[bool] | None, moment: ColumnElement[Any], key: ColumnElement[Any]) -> Any:
    """The condition for all that comes after a cursor: lower ranks first, then the newest, then by id."""
    is_low, made_at, identifier = _read(cursor)
    later = or_(moment < made_at, and_(moment == made_at, key > identifier))
    if rank is None:
        return later
    return and_(rank, later) if is_low else or_(rank, later)


def cursor_of(row: Row[Any], *, moment: str, is_low: bool = False) -> str:
    """Where the list goes on after a row."""
    return f"{int(is_low)}~{getattr(row, moment).isoformat()}~{row.id}"


def page_of(
    rows: Sequence[Row[Any]], *, limit: int, made: Callable[[Row[Any]], T], cursor: Callable[[Row[Any]], str]
) -> HistoryPage[T]:
    """So many of the rows, of which one more than that was asked for."""
    shown = rows[:limit]
    return HistoryPage(tuple(made(row) for row in shown), cursor(shown[-1]) if len(rows) > limit else None)


def _read(cursor: str) -> tuple[bool, datetime, str]:
    rank, _, rest = cursor.partition("~")
    moment, _, identifier = rest.partition("~")
    try:
        made_at = datetime.fromisoformat(moment)
    except ValueError as error:
        raise NotFound(NO_SUCH_PAGE) from error
    if rank not in ("0", "1") or not identifier or made_at.tzinfo is not None:
        raise NotFound(NO_SUCH_PAGE)
    return rank == "1", made_at, identifier
