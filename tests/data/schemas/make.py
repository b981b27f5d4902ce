"""Made the SQL beside this file: what each migration ran, 0001 to 0012, while Alembic still ran them.

Run it again in a checkout of commit fb3ed9f, with alembic installed:

    git worktree add /tmp/fb3ed9f fb3ed9f --detach
    PYTHONPATH=/tmp/fb3ed9f/src:/tmp/fb3ed9f python tests/data/schemas/make.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
VERSIONS = [f"{number:04}" for number in range(1, 13)]


def statements(engine: Any) -> list[str]:
    """What changes the database on its way to the newest version, with a line before each version's."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import event

    from citewell.adapters.store import schema

    lines: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if statement.lstrip().startswith(("CREATE", "ALTER", "INSERT", "UPDATE")):
            assert not parameters
            lines.append(" ".join(statement.split()) + ";")

    event.listen(engine, "before_cursor_execute", note)
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    for version in VERSIONS:
        lines.append(f"-- {version}")
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, version)
    return lines


def main() -> None:
    """Run them in a file and in a server."""
    from sqlalchemy import create_engine
    from tests.postgres import running_server

    with running_server() as server:
        server.sql("CREATE DATABASE schemas")
        server.sql("CREATE EXTENSION vector", "schemas")
        postgres = create_engine(server.url("schemas").replace("postgresql:", "postgresql+psycopg:"))
        for engine in (create_engine("sqlite://"), postgres):
            text = "".join(f"{line}\n" for line in statements(engine))
            (HERE / f"{engine.dialect.name}.sql").write_text(text)
            engine.dispose()


if __name__ == "__main__":
    main()
