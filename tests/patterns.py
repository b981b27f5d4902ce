"""All compiled patterns of the package, and how each is used."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import citewell
from tests.regex_steps import Use

SOURCES = Path(citewell.__file__).parent
METHODS = "match|fullmatch|search|finditer|findall|sub|subn|split"
_CALLED = re.compile(rf"\b([A-Za-z_]\w*)\.({METHODS})\b")
_DEEP = 8


@dataclass(frozen=True, slots=True)
class UsedPattern:
    """A pattern, the names that it has, and the way of using it that may take the longest."""

    pattern: re.Pattern[str]
    names: tuple[str, ...]
    use: Use


@cache
def used_patterns() -> tuple[UsedPattern, ...]:
    """Every pattern that a module, a table or a call of the package holds."""
    for module in pkgutil.walk_packages(citewell.__path__, "citewell."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    names: dict[re.Pattern[str], set[str]] = defaultdict(set)
    for name, module_object in sorted(sys.modules.items()):
        if name.partition(".")[0] == "citewell":
            for variable, value in vars(module_object).items():
                for pattern in _within(value, set(), 0):
                    names[pattern].add(f"{name}.{variable}")
    kept = [UsedPattern(pattern, tuple(sorted(of)), _use(of)) for pattern, of in names.items()]
    return (*kept, *_written_in_calls())


def _within(value: object, seen: set[int], depth: int) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
        return
    if id(value) in seen or depth > _DEEP or isinstance(value, str | bytes | int | float | type | None):
        return
    seen.add(id(value))
    parts: list[object] = []
    if isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        parts = list(value)
    elif type(value).__module__.startswith("citewell"):
        slots = getattr(type(value), "__slots__", ())
        held = vars(value) if hasattr(value, "__dict__") else {}
        parts = [getattr(value, name, None) for name in (*slots, *held)]
    for part in parts:
        yield from _within(part, seen, depth + 1)


@cache
def _calls() -> Mapping[tuple[str, str], frozenset[str]]:
    """The methods that are called on a name, by module and over all modules."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in SOURCES.rglob("*.py"):
        text = path.read_text()
        for match in _CALLED.finditer(text):
            found[_module_of(path), match[1]].add(match[2])
            found["", match[1]].add(match[2])
    return {key: frozenset(methods) for key, methods in found.items()}


@cache
def _mentions(module: str, name: str) -> int:
    """How often a module names a variable otherwise than to call a method of it; where it is made does not count."""
    path = SOURCES.parent / f"{module.replace('.', '/')}.py"
    text = path.read_text() if path.exists() else (path.with_suffix("") / "__init__.py").read_text()
    return len(re.findall(rf"(?m)\b{name}\b(?!\.(?:{METHODS})\b)", text)) - 1


def _use(names: set[str]) -> Use:
    """Whether a pattern is only ever held against a beginning or a whole; one in a table may be searched for."""
    methods: set[str] = set()
    for name in names:
        module, _, variable = name.rpartition(".")
        if _mentions(module, variable) > 0:
            return "find"
        methods |= _calls().get((module if variable.startswith("_") else "", variable), frozenset({"search"}))
    if methods <= {"fullmatch"}:
        return "fullmatch"
    return "match" if methods <= {"match", "fullmatch"} else "find"


def _written_in_calls() -> Iterator[UsedPattern]:
    """Patterns that stand in a call, such as `re.sub(r"\\s+", …)`."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
                continue
            is_of_re = isinstance(node.func.value, ast.Name) and node.func.value.id == "re"
            first = node.args[0]
            if is_of_re and isinstance(first, ast.Constant) and isinstance(first.value, str):
                method = node.func.attr
                use: Use = "match" if method == "match" else "fullmatch" if method == "fullmatch" else "find"
                if method in METHODS.split("|"):
                    yield UsedPattern(re.compile(first.value), (f"{_module_of(path)}:{node.lineno}",), use)


def _module_of(path: Path) -> str:
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
