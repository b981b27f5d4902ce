"""One clock for leases and pauses, the database's: machines that disagree about the time do no harm."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

NOW = {
    "sqlite": "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')",
    "postgresql": "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')",
}


def clock(connection: Connection) -> datetime:
    """The present as the database has it, in UTC, as columns hold it."""
    return datetime.fromisoformat(connection.exec_driver_sql(NOW[connection.dialect.name]).scalar_one())
