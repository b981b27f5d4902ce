"""Citewell: answers from medical documents, each pointing at the exact words it rests on."""

__version__ = "0.1.0"
