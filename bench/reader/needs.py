"""What the reader's scripts need beyond the project, and a plain word where it is missing."""

from __future__ import annotations

try:
    import torch
    import transformers
    from tokenizers import Tokenizer
except ImportError as error:
    raise SystemExit(
        f"The Python package “{error.name}” is missing. Training the pair reader needs an environment of its own: "
        "see bench/reader/README.md, “Two environments”."
    ) from error

__all__ = ["Tokenizer", "torch", "transformers"]
