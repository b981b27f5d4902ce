"""What one scope may see of the index, decided before anything is scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.segment import Integers, Segment


@dataclass(frozen=True, slots=True)
class Part:
    """The visible rows of one segment, numbered 0, 1, … without gaps: their positions."""

    segment: Segment
    ordinals: Integers
    """The visible generations."""
    run_rows: Integers
    """First row of each run of neighbouring visible generations."""
    run_positions: Integers
    """First position of each run; one more than runs: the last is the number of visible rows."""
    first_positions: Integers | None
    """Position of each generation's first chunk, -1 where it is not visible; None where everything is."""
    total_length: int
    """Index terms of all visible rows."""

    @property
    def rows(self) -> int:
        return int(self.run_positions[-1])

    @property
    def is_whole(self) -> bool:
        return self.first_positions is None

    def rows_at(self, positions: Integers) -> Integers:
        """The rows that stand at these positions."""
        if self.is_whole:
            return positions
        run = self.run_positions.searchsorted(positions, side="right") - 1
        rows: Integers = self.run_rows[run] + positions - self.run_positions[run]
        return rows

    def all_rows(self) -> Integers:
        """Every visible row."""
        return self.rows_at(np.arange(self.rows))


def see(segment: Segment, visible: NDArray[np.int64]) -> Part | None:
    """The part of a segment that belongs to the visible generations; None where that is nothing."""
    ordinals = np.flatnonzero(np.isin(segment.generations, visible))
    if not len(ordinals):
        return None
    starts, ends = segment.first_rows[ordinals], segment.first_rows[ordinals + 1]
    opens = np.flatnonzero(np.concatenate(([True], starts[1:] != ends[:-1])))
    sizes = np.add.reduceat(ends - starts, opens)
    positions = np.concatenate(([0], np.cumsum(ends - starts)))
    first_positions = None
    if len(ordinals) < len(segment.generations):
        first_positions = np.full(len(segment.generations), -1, dtype=np.int64)
        first_positions[ordinals] = positions[:-1]
    lengths = np.concatenate(([0], np.cumsum(segment.lengths, dtype=np.int64)))
    return Part(
        segment,
        ordinals,
        starts[opens],
        np.concatenate(([0], np.cumsum(sizes))),
        first_positions,
        int((lengths[ends] - lengths[starts]).sum()),
    )


def look(segments: Sequence[Segment], generations: Iterable[int]) -> tuple[Part, ...]:
    """What the visible generations are in each segment."""
    visible = np.fromiter(generations, dtype=np.int64)
    return tuple(part for segment in segments if (part := see(segment, visible)) is not None)
