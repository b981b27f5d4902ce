"""Check one sentence against the words that it cites: exact checks, then the trained reader."""

from __future__ import annotations

from citewell.answer.verify.verify_sentence import verify

__all__ = ["verify"]
