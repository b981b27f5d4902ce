"""Puts the files of the embedding model into the wheel of `make dist`; any other build is as usual."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILES = ("model.safetensors", "tokenizer.json", "README.md")
"""The weights and the tokenizer, and what their makers say of them."""


class ModelFiles(BuildHookInterface[Any]):
    """The hook that the build calls."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files beside the code that reads them."""
        folder = os.environ.get("CITEWELL_MODEL_FILES")
        if folder and version == "standard":
            for name in FILES:
                if not (Path(folder) / name).is_file():
                    raise FileNotFoundError(f"The embedding model is incomplete: {name} is missing in {folder}.")
                build_data["force_include"][str(Path(folder) / name)] = f"citewell/minilm/model/{name}"
