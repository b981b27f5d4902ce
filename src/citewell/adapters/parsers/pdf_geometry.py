"""Points and rectangles on a page as it is seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Direction = Literal["right", "down", "left", "up"]
"""Which way a line of text runs on the page as it is seen."""


class Rect(NamedTuple):
    """A rectangle in points from the top left corner of the page as it is seen."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2

    def holds(self, x: float, y: float) -> bool:
        """Whether the point lies inside."""
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    def around(self, other: Rect) -> Rect:
        """The smallest rectangle that holds both."""
        return Rect(
            min(self.left, other.left),
            min(self.top, other.top),
            max(self.right, other.right),
            max(self.bottom, other.bottom),
        )


@dataclass(frozen=True, slots=True)
class PageFrame:
    """How a page's own coordinates become those of the page as it is seen: x' = a·x + b·y + c, y' = d·x + e·y + f."""

    a: float
    b: float
    c: float
    d: float
    e: float
    f: float

    @classmethod
    def of(cls, bounds: tuple[float, float, float, float], rotation: int) -> PageFrame:
        """The frame of a page with these bounds (left, bottom, right, top), shown turned clockwise by `rotation`.

        >>> PageFrame.of((0, 0, 100, 200), 90).point(10, 150)
        (150, 10)
        """
        left, bottom, right, top = bounds
        match rotation:
            case 90:
                return cls(0, 1, -bottom, 1, 0, -left)
            case 180:
                return cls(-1, 0, right, 0, 1, -bottom)
            case 270:
                return cls(0, -1, top, -1, 0, right)
            case _:
                return cls(1, 0, -left, 0, -1, top)

    def point(self, x: float, y: float) -> tuple[float, float]:
        """The same point as it is seen."""
        return self.a * x + self.b * y + self.c, self.d * x + self.e * y + self.f

    def rect(self, left: float, bottom: float, right: float, top: float) -> Rect:
        """The same area as it is seen."""
        x1, y1 = self.a * left + self.b * bottom + self.c, self.d * left + self.e * bottom + self.f
        x2, y2 = self.a * right + self.b * top + self.c, self.d * right + self.e * top + self.f
        return Rect(min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))

    def direction(self, x: float, y: float) -> Direction:
        """Which way a vector points on the page as it is seen, to the nearest side.

        >>> PageFrame.of((0, 0, 100, 200), 90).direction(0, 1)
        'right'
        """
        across, down = self.a * x + self.b * y, self.d * x + self.e * y
        if abs(across) >= abs(down):
            return "right" if across >= 0 else "left"
        return "down" if down >= 0 else "up"


@dataclass(frozen=True, slots=True)
class PageTurn:
    """Turns the page as it is seen so that text running in `direction` runs to the right."""

    direction: Direction
    width: float
    height: float
    """Of the page as it is seen."""

    def rect(self, area: Rect) -> Rect:
        """An area of the page as it is seen, in the turned frame."""
        left, top, right, bottom = area
        match self.direction:
            case "right":
                return area
            case "up":
                return Rect(self.height - bottom, left, self.height - top, right)
            case "down":
                return Rect(top, self.width - right, bottom, self.width - left)
            case "left":
                return Rect(self.width - right, self.height - bottom, self.width - left, self.height - top)

    def base(self, base: float) -> float:
        """A base line of the page as it is seen, in the turned frame."""
        match self.direction:
            case "right" | "up":
                return base
            case "down":
                return self.width - base
            case "left":
                return self.height - base

    def back(self, area: Rect) -> Rect:
        """An area of the turned frame, on the page as it is seen.

        >>> turn = PageTurn("up", 600, 800)
        >>> turn.back(turn.rect(Rect(10, 20, 30, 60)))
        Rect(left=10, top=20, right=30, bottom=60)
        """
        left, top, right, bottom = area
        match self.direction:
            case "right":
                return area
            case "up":
                return Rect(top, self.height - right, bottom, self.height - left)
            case "down":
                return Rect(self.width - bottom, left, self.width - top, right)
            case "left":
                return Rect(self.width - right, self.height - bottom, self.width - left, self.height - top)
