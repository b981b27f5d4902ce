"""Characters that not every database keeps, refused by all in the same words: NUL, and one half of a pair."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

from citewell.errors import InputError, NotFound

NUL = "\x00"
NOTHING_SUCH = (
    "Nothing found: the name contains an invalid character (a NUL or a lone surrogate). Check it and try again."
)
UNKEEPABLE = (
    "The text contains an invalid character (a NUL or a lone surrogate), so nothing was changed. "
    "Remove it and try again."
)


def refuse_unkeepable(engine: Engine) -> None:
    """Let no such character reach this database: SQLite would take a NUL that PostgreSQL refuses."""
    event.listen(engine, "before_cursor_execute", _look)
    event.listen(engine, "handle_error", _translate)


def _look(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, many: Any) -> None:
    for given in parameters if many else (parameters,):
        if any(isinstance(value, str) and NUL in value for value in _values(given)):
            raise _refusal(statement)


def _translate(context: ExceptionContext) -> None:
    """A driver finds half a pair by itself, when it writes the text as bytes."""
    if isinstance(context.original_exception, UnicodeEncodeError):
        raise _refusal(context.statement or "") from None


def _values(given: Any) -> Iterable[Any]:
    return given.values() if isinstance(given, Mapping) else given or ()


def _refusal(statement: str) -> InputError | NotFound:
    """What cannot be kept was never found; what is to be written must be mended first."""
    return (
        NotFound(NOTHING_SUCH) if statement.lstrip().upper().startswith(("SELECT", "WITH")) else InputError(UNKEEPABLE)
    )
