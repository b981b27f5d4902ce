"""A collection behind WebDAV (RFC 4918): listed folder by folder, read by GET."""

from __future__ import annotations

from contextlib import closing
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import httpx
from lxml import etree

from citewell.adapters.folders.names import why_skipped
from citewell.adapters.parsers.xml_tree import read_plain_tree
from citewell.adapters.remote import CONNECT_S, is_local
from citewell.errors import InputError, Unavailable
from citewell.types.watched import FolderListing, SeenFile

READ_S = 60.0
MAX_FOLDERS = 10_000
MAX_LISTING_BYTES = 64 << 20
UNKNOWN = -1
DAV = "{DAV:}"
ASKED = (
    b'<?xml version="1.0"?><propfind xmlns="DAV:"><prop><resourcetype/><getcontentlength/><getetag/>'
    b"<getlastmodified/></prop></propfind>"
)
OPEN_LOGIN = (
    "The login for this address would travel in the open. Use an https address, or remove it from "
    "CITEWELL_WATCH_LOGINS."
)
REFUSED = "{place} refused the request ({status}). Nothing was changed. Check the address and CITEWELL_WATCH_LOGINS."
SILENT = "{place} is not responding. Nothing was changed. Try again, or check the address."
ODD = "{place} did not answer as WebDAV does. Nothing was changed. Check the address."


class WebDavFolder:
    """Files below an address; nothing of another host or another folder is asked for, whatever the server lists."""

    is_settled = False

    def __init__(self, address: str, *, user: str | None, password: str | None) -> None:
        parts = urlsplit(address)
        if user is not None and parts.scheme != "https" and not is_local(address):
            raise InputError(OPEN_LOGIN)
        self._base = unquote(parts.path).rstrip("/") + "/"
        self._origin, self._place = f"{parts.scheme}://{parts.netloc}", address
        self._client = httpx.Client(
            auth=None if user is None else (user, password or ""),
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            trust_env=not is_local(address),
            headers={"Accept-Encoding": "identity"},  # nothing unpacks to more than was announced
        )

    def listing(self) -> FolderListing:
        """All files below the address."""
        files, skipped, unread = dict[str, SeenFile](), dict[str, str](), dict[str, str]()
        waiting, seen = [""], {""}
        while waiting:
            folder = waiting.pop()
            for path, found in self._members(folder):
                if (why := why_skipped(path.rstrip("/"))) is not None:
                    skipped[path] = why
                elif found is not None and found.size_bytes == UNKNOWN:
                    skipped[path] = "its server does not tell its size"
                elif found is not None:
                    files[path] = found
                elif path not in seen and len(seen) < MAX_FOLDERS:
                    seen.add(path)
                    waiting.append(path)
                elif path not in seen:
                    unread[path] = f"more than {MAX_FOLDERS:,} folders"
        ordered = tuple(files[path] for path in sorted(files))
        return FolderListing(ordered, {**skipped, **unread}, not unread)

    def read(self, file: SeenFile) -> bytes | None:
        """The bytes of a file, if what the server tells of it is the same before and after."""
        _, data = self._send("GET", file.path, most=file.size_bytes)
        folder = file.path.rpartition("/")[0]
        now = dict(self._members(f"{folder}/" if folder else ""))
        return data if now.get(file.path) == file and len(data) == file.size_bytes else None

    def close(self) -> None:
        """Let go of connections."""
        self._client.close()

    def _members(self, folder: str) -> list[tuple[str, SeenFile | None]]:
        """What is right below a folder: files, and folders with a slash at the end."""
        headers = {"Depth": "1", "Content-Type": "text/xml"}
        status, answer = self._send("PROPFIND", folder, headers=headers, content=ASKED)
        try:
            root = read_plain_tree(answer)
        except InputError as error:
            raise Unavailable(ODD.format(place=self._place)) from error
        if status != httpx.codes.MULTI_STATUS or root.tag != f"{DAV}multistatus":
            raise Unavailable(ODD.format(place=self._place))
        members = [self._member(response) for response in root.iterfind(f"{DAV}response")]
        inside = [member for member in members if member is not None and member[0] != folder]
        return [member for member in inside if member[0].rstrip("/").rpartition("/")[0] == folder.rstrip("/")]

    def _member(self, response: etree._Element) -> tuple[str, SeenFile | None] | None:
        """One thing that a server lists, by its path below the address; None where that is elsewhere."""
        href = urlsplit((response.findtext(f"{DAV}href") or "").strip())
        is_here = not href.netloc or f"{href.scheme}://{href.netloc}" == self._origin
        path = unquote(href.path)
        if not is_here or not path.startswith(self._base) or ".." in path.split("/"):
            return None
        path = path.removeprefix(self._base)
        if response.find(f".//{DAV}collection") is not None:
            return path.rstrip("/") + "/" if path else "", None
        told = [
            response.findtext(f".//{DAV}{name}") or "" for name in ("getcontentlength", "getetag", "getlastmodified")
        ]
        size = int(told[0]) if told[0].isdecimal() else UNKNOWN
        return path, SeenFile(path, " ".join(told), size)

    def _send(self, method: str, path: str, *, most: int = MAX_LISTING_BYTES, **sent: Any) -> tuple[int, bytes]:
        """Ask the server; little more is taken of the answer than was expected."""
        request = self._client.build_request(method, self._origin + quote(self._base + path), **sent)
        taken: list[bytes] = []
        try:
            answer = self._client.send(request, stream=True)
            with closing(answer):
                for piece in answer.iter_raw():
                    taken.append(piece)
                    if answer.num_bytes_downloaded > most:
                        break  # it grew since it was listed
        except httpx.HTTPError as error:
            raise Unavailable(SILENT.format(place=self._place)) from error
        if not answer.is_success:
            raise Unavailable(REFUSED.format(place=self._place, status=answer.status_code))
        return answer.status_code, b"".join(taken)
