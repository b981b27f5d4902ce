"""Databases as each earlier version made them, from the SQL that its migrations ran."""

from __future__ import annotations

import re
from pathlib import Path

from sqlalchemy import Connection

FOLDER = Path(__file__).parents[1] / "data" / "schemas"
VERSIONS = [f"{number:04}" for number in range(1, 17)]


def make_schema(connection: Connection, version: str) -> None:
    """The tables of a version, without a row."""
    steps = re.split(r"^-- (\d{4})\n", (FOLDER / f"{connection.dialect.name}.sql").read_text(), flags=re.MULTILINE)[1:]
    assert steps[::2] == VERSIONS
    for step, statements in zip(steps[::2], steps[1::2], strict=True):
        if step <= version:
            for statement in statements.splitlines():
                connection.exec_driver_sql(statement)
