"""Watched folders and what is known of their files, in SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Row, and_, delete, func, insert, select, update

from citewell.adapters.store.clock import clock
from citewell.adapters.store.engine import reading, writing
from citewell.adapters.store.schema import watched_files, watched_folders
from citewell.errors import NotFound
from citewell.types.watched import NO_SUCH_FOLDER, FolderLook, WatchedFile, WatchedFolder

MAX_PROBLEMS = 100


class SqlWatched:
    """The folders of each tenant. Taking one off the list leaves its documents as they are."""

    def __init__(self, engine: Engine, path: Path) -> None:
        self._engine, self._path = engine, path

    def put(self, folder: WatchedFolder) -> None:
        """Put a folder on the list, or file it anew."""
        filing = {
            "tags": list(folder.tags),
            "rules": {name: list(tags) for name, tags in folder.rules.items()},
            "journeys": list(folder.journeys),
        }
        with writing(self._engine, self._path) as connection:
            if self._row(connection, folder.tenant, folder.address) is None:
                named = {"id": folder.id, "tenant": folder.tenant, "address": folder.address}
                connection.execute(insert(watched_folders).values(**named, **filing, added_at=clock(connection)))
            else:
                connection.execute(update(watched_folders).where(watched_folders.c.id == folder.id).values(**filing))

    def remove(self, address: str, *, tenant: str) -> None:
        """Take a folder off the list."""
        with writing(self._engine, self._path) as connection:
            if (row := self._row(connection, tenant, address)) is None:
                raise NotFound(NO_SUCH_FOLDER)
            connection.execute(delete(watched_files).where(watched_files.c.folder_id == row.id))
            connection.execute(delete(watched_folders).where(watched_folders.c.id == row.id))

    def one(self, address: str, *, tenant: str) -> WatchedFolder:
        """A folder by its address."""
        known = {folder.address: folder for folder in self.all(tenant=tenant)}
        if address not in known:
            raise NotFound(NO_SUCH_FOLDER)
        return known[address]

    def all(self, *, tenant: str) -> list[WatchedFolder]:
        """The folders of a tenant, oldest first."""
        mine = watched_folders.c.tenant == tenant
        files = watched_files.join(watched_folders, watched_files.c.folder_id == watched_folders.c.id)
        counted = (
            select(watched_files.c.folder_id, func.count(watched_files.c.document_id.distinct()))
            .select_from(files)
            .where(mine, ~watched_files.c.is_gone)
            .group_by(watched_files.c.folder_id)
        )
        failed = select(watched_files).select_from(files).where(mine, watched_files.c.problem.is_not(None))
        with reading(self._engine, self._path) as connection:
            rows = connection.execute(select(watched_folders).where(mine).order_by(watched_folders.c.added_at)).all()
            counts = {row[0]: row[1] for row in connection.execute(counted)}
            problems = connection.execute(failed.order_by(watched_files.c.path).limit(MAX_PROBLEMS)).all()
        return [
            _folder(
                row,
                documents=counts.get(row.id, 0),
                problems={problem.path: problem.problem for problem in problems if problem.folder_id == row.id},
            )
            for row in rows
        ]

    def files(self, folder_id: str) -> dict[str, WatchedFile]:
        """What is known of the files of a folder, by their paths."""
        query = select(watched_files).where(watched_files.c.folder_id == folder_id)
        with reading(self._engine, self._path) as connection:
            return {row.path: _file(row) for row in connection.execute(query)}

    def keep(self, folder_id: str, file: WatchedFile, *, was_at: str | None = None) -> None:
        """Keep what is known of a file, which may have stood elsewhere before."""
        paths = {file.path} if was_at is None else {file.path, was_at}
        with writing(self._engine, self._path) as connection:
            old = and_(watched_files.c.folder_id == folder_id, watched_files.c.path.in_(paths))
            connection.execute(delete(watched_files).where(old))
            connection.execute(insert(watched_files).values(folder_id=folder_id, **asdict(file)))

    def forget(self, folder_id: str, path: str) -> None:
        """Forget a file whose document is not the folder's."""
        with writing(self._engine, self._path) as connection:
            of_file = and_(watched_files.c.folder_id == folder_id, watched_files.c.path == path)
            connection.execute(delete(watched_files).where(of_file))

    def places(self, document_id: str, *, tenant: str) -> list[tuple[WatchedFolder, WatchedFile]]:
        """Where the files of a document are, or were."""
        folders = {folder.id: folder for folder in self.all(tenant=tenant)}
        if not folders:
            return []
        query = select(watched_files).where(
            watched_files.c.document_id == document_id, watched_files.c.folder_id.in_(folders)
        )
        with reading(self._engine, self._path) as connection:
            return [(folders[row.folder_id], _file(row)) for row in connection.execute(query)]

    def looked(self, folder: WatchedFolder, look: FolderLook | None, problem: str | None) -> WatchedFolder:
        """Keep how a look went."""
        with writing(self._engine, self._path) as connection:
            values = {
                "looked_at": clock(connection),
                "problem": problem,
                "look": None if look is None else asdict(look),
            }
            connection.execute(update(watched_folders).where(watched_folders.c.id == folder.id).values(**values))
        return self.one(folder.address, tenant=folder.tenant)

    @staticmethod
    def _row(connection: Connection, tenant: str, address: str) -> Row[Any] | None:
        mine = and_(watched_folders.c.tenant == tenant, watched_folders.c.address == address)
        return connection.execute(select(watched_folders).where(mine)).first()


def _folder(row: Row[Any], *, documents: int, problems: Mapping[str, str]) -> WatchedFolder:
    return WatchedFolder(
        id=row.id,
        tenant=row.tenant,
        address=row.address,
        tags=tuple(row.tags),
        rules={name: tuple(tags) for name, tags in row.rules.items()},
        journeys=tuple(row.journeys),
        added_at=row.added_at.replace(tzinfo=UTC),
        looked_at=row.looked_at and row.looked_at.replace(tzinfo=UTC),
        problem=row.problem,
        look=None if row.look is None else FolderLook(**row.look),
        problems=problems,
        documents=documents,
    )


def _file(row: Row[Any]) -> WatchedFile:
    values = row._asdict()
    del values["folder_id"]
    return WatchedFile(**values)
