"""What `deploy/` says is true of this version: settings, commands, packages, files and addresses that exist."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml  # type: ignore[import-untyped]

from citewell.api.routes import status
from citewell.cli.commands import app
from citewell.config import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
WHEEL = "dist/citewell-*.whl"
"""What `make dist` builds."""
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def settings_named(text: str) -> set[str]:
    return {name.lower() for name in re.findall(r"\bCITEWELL_([A-Z_]+)(?=[=:}])", text)}


def assert_is_a_command(words: list[str]) -> None:
    """Each word leads on to a command of ours, each option is one of its own."""
    assert words[0].rpartition("/")[2] == "citewell"
    command = typer.main.get_command(app)
    for word in words[1:]:
        if word.startswith("--"):
            assert word in {name for option in command.params for name in option.opts}, word
        else:
            command = command.get_command(None, word)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", [DEPLOY / "compose.yaml", DEPLOY / "Dockerfile", DEPLOY / "citewell.env"])
def test_every_setting_that_is_named_exists(path: Path) -> None:
    named = settings_named(path.read_text())
    assert named
    assert named - set(Settings.model_fields) == set()


def test_the_settings_of_the_units_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (DEPLOY / "citewell.env").read_text().splitlines()
    for name, _, value in (line.partition("=") for line in lines if line and not line.startswith("#")):
        monkeypatch.setenv(name, value)
    made = Settings()
    assert (made.home, made.hosts, made.is_https) == (Path("/var/lib/citewell"), ("citewell.clinic.example",), True)


def test_the_compose_file_refers_to_what_it_has() -> None:
    services = COMPOSE["services"]
    assert set(services) == {"web", "worker", "postgres", "redis"}
    for service in services.values():
        assert set(service.get("depends_on", ())) <= set(services)
        for mounted in service.get("volumes", ()):
            assert mounted.partition(":")[0] in COMPOSE["volumes"]
        for name, wanted in service.get("depends_on", {}).items():
            assert wanted["condition"] != "service_healthy" or "healthcheck" in services[name]
    told = services["web"]["environment"]
    hosts = re.findall(r"@(\w+):|//(\w+):", told["CITEWELL_DATABASE_URL"] + told["CITEWELL_BROKER_URL"])
    assert {first or second for first, second in hosts} - {"citewell"} == {"postgres", "redis"}
    asked = re.search(r"8477(/[\w/]+)", services["web"]["healthcheck"]["test"][-1])
    assert asked is not None
    assert asked.group(1) in {route.path for route in status.router.routes}  # type: ignore[attr-defined]


def test_what_is_started_is_a_command() -> None:
    dockers = re.search(r"^CMD (.+)$", DOCKERFILE, re.MULTILINE)
    assert dockers is not None
    started = [json.loads(dockers.group(1)), COMPOSE["services"]["worker"]["command"]]
    for unit in UNITS:
        started += [shlex.split(line[10:]) for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    assert len(started) == 5
    for words in started:
        assert_is_a_command(words)


def test_the_image_is_made_of_files_and_packages_that_exist() -> None:
    copied = [words.split()[1:-1] for words in re.findall(r"^(COPY .+)$", DOCKERFILE, re.MULTILINE)]
    assert [name for names in copied for name in names if not ((ROOT / name).exists() or name == WHEEL)] == []
    assert "make dist && docker build -f deploy/Dockerfile" in DOCKERFILE
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (asked,) = re.findall(r'"\$\(ls \./citewell-\*\.whl\)\[([\w,]+)\]"', DOCKERFILE)
    assert set(asked.split(",")) <= set(extras)
    assert f"EXPOSE {Settings().port}" in DOCKERFILE
