"""What one scope may see of the index, decided before anything is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from citewell.adapters.index.segment import Integers, Segment, starts


@dataclass(frozen=True, slots=True)
class SegmentView:
    """The visible rows of one segment, numbered 0, 1, … without gaps: their positions."""

    segment: Segment
    rows: int
    """How many are visible."""
    total_length: int
    """Index terms of all of them."""
    run_rows: Integers
    """First row of each run of visible rows."""
    run_positions: Integers
    """First position of each run; one more than runs: the last is `rows`."""
    ordinals: NDArray[np.int32]
    """The visible generations."""
    shifts: Integers | None
    """Row less position, for each generation, or HIDDEN; None where every generation is visible."""

    @property
    def bytes(self) -> int:
        """Memory held beside the segment."""
        arrays = (self.run_rows, self.run_positions, self.ordinals, self.shifts)
        return sum(array.nbytes for array in arrays if array is not None)

    def rows_at(self, positions: Integers) -> Integers:
        """The rows that stand at these positions."""
        if self.shifts is None:
            return positions
        run = self.run_positions.searchsorted(positions, side="right") - 1
        rows: Integers = self.run_rows[run] + positions - self.run_positions[run]
        return rows


HIDDEN = -1


def look(segments: Sequence[Segment], generations: Sequence[int]) -> tuple[SegmentView, ...]:
    """The visible part of each segment; segments without one are left out."""
    visible = np.array(generations, dtype=np.int64)
    parts = (_part(segment, np.flatnonzero(np.isin(segment.generations, visible))) for segment in segments)
    return tuple(part for part in parts if part.rows)


def _part(segment: Segment, ordinals: Integers) -> SegmentView:
    firsts, ends = segment.first_rows[ordinals], segment.first_rows[ordinals + 1]
    positions = starts(ends - firsts)
    opens = np.flatnonzero(np.concatenate(([True], firsts[1:] != ends[:-1]))) if len(ordinals) else ordinals
    shifts = None
    if len(ordinals) < len(segment.generations):
        shifts = np.full(len(segment.generations), HIDDEN, dtype=np.int64)
        shifts[ordinals] = firsts - positions[:-1]
    return SegmentView(
        segment,
        int(positions[-1]),
        int((segment.first_terms[ordinals + 1] - segment.first_terms[ordinals]).sum()),
        firsts[opens],
        np.append(positions[opens], positions[-1]),
        ordinals.astype(np.int32),
        shifts,
    )
