"""What goes between a process that reads files and the one that asks it: plain JSON with bytes behind, and no code."""

from __future__ import annotations

import json
import struct
from array import array
from dataclasses import asdict, dataclass
from datetime import date
from typing import IO, Any

from citewell.types import Block, Document, Layout, Metadata, Page, PageLine, ParseLimits, Source

_LENGTHS = struct.Struct(">QQ")
_EDGE = array("d").itemsize


@dataclass(frozen=True, slots=True)
class ParseJob:
    """A file to be parsed."""

    source: Source
    media_type: str
    limits: ParseLimits
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class DrawJob:
    """A page to be drawn."""

    data: bytes
    number: int
    width_px: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class JobDone:
    """What came of a job."""

    result: Document | bytes


@dataclass(frozen=True, slots=True)
class JobFailed:
    """What went wrong: the name of an error, and its message where it is one of ours."""

    name: str
    message: str


Frame = ParseJob | DrawJob | JobDone | JobFailed


def send(stream: IO[bytes], frame: Frame) -> None:
    """Write one frame, its lengths before it."""
    head, body = _packed(frame)
    written = json.dumps(head).encode()
    stream.write(_LENGTHS.pack(len(written), len(body)))
    stream.write(written)
    stream.write(body)
    stream.flush()


def received(stream: IO[bytes]) -> Frame | None:
    """The next frame, or None where the other side is no more; ValueError and the like where it is none."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head_size, body_size = _LENGTHS.unpack(lengths)
    head, body = stream.read(head_size), stream.read(body_size)
    return _unpacked(json.loads(head), body) if len(head) == head_size and len(body) == body_size else None


def _packed(frame: Frame) -> tuple[dict[str, Any], bytes]:
    head: dict[str, Any]
    if isinstance(frame, ParseJob):
        head = {"name": frame.source.name, "media_type": frame.media_type, "limits": asdict(frame.limits)}
        return {"is": "read", **head, "memory_bytes": frame.memory_bytes}, frame.source.data
    if isinstance(frame, DrawJob):
        head = {"number": frame.number, "width_px": frame.width_px, "memory_bytes": frame.memory_bytes}
        return {"is": "draw", **head}, frame.data
    if isinstance(frame, JobFailed):
        return {"is": "failed", "name": frame.name, "message": frame.message}, b""
    return ({"is": "image"}, frame.result) if isinstance(frame.result, bytes) else _document_packed(frame.result)


def _unpacked(head: dict[str, Any], body: bytes) -> Frame:
    kind = head.pop("is")
    if kind == "read":
        source = Source(body, head["name"])
        return ParseJob(source, head["media_type"], ParseLimits(**head["limits"]), head["memory_bytes"])
    if kind == "draw":
        return DrawJob(body, **head)
    if kind == "failed":
        return JobFailed(**head)
    return JobDone(body if kind == "image" else _document_unpacked(head, body))


def _document_packed(document: Document) -> tuple[dict[str, Any], bytes]:
    meta, layout = asdict(document.metadata), document.layout
    meta["published"] = meta["published"] and meta["published"].isoformat()
    head = {
        "is": "document",
        "title": document.title,
        "media_type": document.media_type,
        "text": document.text,
        "blocks": [[block.kind, block.start, block.end, block.section, block.page] for block in document.blocks],
        "pages": [[page.number, page.start, page.end, page.width, page.height, page.label] for page in layout.pages],
        "lines": [
            [page_line.start, page_line.page, page_line.top, page_line.bottom, len(page_line.lefts)]
            for page_line in layout.lines
        ],
        "left_out": layout.left_out,
        "metadata": meta,
        "notes": document.notes,
    }
    edges = (array("d", side) for line in layout.lines for side in (line.lefts, line.rights))
    return head, b"".join(edge.tobytes() for edge in edges)


def _document_unpacked(head: dict[str, Any], body: bytes) -> Document:
    meta = head["metadata"]
    published = meta["published"] and date.fromisoformat(meta["published"])
    identifiers = tuple((name, value) for name, value in meta["identifiers"])
    lines, at = [], 0
    for start, page, top, bottom, count in head["lines"]:
        middle, end = at + count * _EDGE, at + 2 * count * _EDGE
        lines.append(PageLine(start, page, top, bottom, array("d", body[at:middle]), array("d", body[middle:end])))
        at = end
    return Document(
        head["title"],
        head["media_type"],
        head["text"],
        tuple(Block(kind, start, end, tuple(section), page) for kind, start, end, section, page in head["blocks"]),
        Layout(
            tuple(Page(*page) for page in head["pages"]),
            tuple(lines),
            tuple((page, text) for page, text in head["left_out"]),
        ),
        Metadata(**{**meta, "published": published, "identifiers": identifiers}),
        tuple(head["notes"]),
    )
