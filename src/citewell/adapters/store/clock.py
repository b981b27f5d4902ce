"""One clock for leases, pauses and days, the database's: machines that disagree about the time do no harm."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection

POSTGRES = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"


def clock(connection: Connection) -> datetime:
    """The present as the database has it, in UTC, as columns hold it; a file has the clock of its machine."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC).replace(tzinfo=None)
    return datetime.fromisoformat(connection.exec_driver_sql(POSTGRES).scalar_one())
