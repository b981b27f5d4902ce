"""Whether what an earlier version's clients send is still taken, and what they read is still there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = Mapping[str, Any]

LOWER, UPPER = ("minimum", "minLength", "minItems"), ("maximum", "maxLength", "maxItems")


@dataclass(frozen=True)
class Contract:
    """Routes and the schemas they name, as tests/data/fb3ed9f/make.py writes them."""

    routes: Mapping[str, Any]
    schemas: Mapping[str, Any]

    def kinds(self, schema: Schema) -> list[Schema]:
        """The alternatives of a schema, each without a reference."""
        if "$ref" in schema:
            return self.kinds(self.schemas[schema["$ref"].rsplit("/", 1)[1]])
        for several in ("anyOf", "oneOf", "allOf"):
            if several in schema:
                assert several != "allOf" or len(schema[several]) == 1
                return [kind for one in schema[several] for kind in self.kinds(one)]
        return [schema]

    def shown(self) -> set[str]:
        """The fields of all that is answered."""
        return {
            path
            for route, told in self.routes.items()
            for status, kinds in told["responses"].items()
            for schema in kinds.values()
            for path in self._paths(f"{route} {status}", schema, frozenset())
        }

    def _paths(self, at: str, schema: Schema, seen: frozenset[str]) -> Iterator[str]:
        if (name := schema.get("$ref", "")) in seen:
            return
        seen = seen | {name} if name else seen
        for kind in self.kinds(schema):
            for field, inner in kind.get("properties", {}).items():
                yield f"{at}.{field}"
                yield from self._paths(f"{at}.{field}", inner, seen)
            for of, more in (("[]", "items"), (".*", "additionalProperties"), ("", "contentSchema")):
                if isinstance(kind.get(more), dict):
                    yield from self._paths(f"{at}{of}", kind[more], seen)


def differences(old: Contract, new: Contract) -> Iterator[str]:
    """Each thing on which a client of the old contract could stumble."""
    for route, was in old.routes.items():
        if route not in new.routes:
            yield f"{route}: gone"
            continue
        now = new.routes[route]
        yield from _parameters(f"{route} ?", old, was["parameters"], new, now["parameters"])
        if now["body_required"] and not was["body_required"]:
            yield f"{route} body: now required"
        sent = Fitting(old, new, is_sent=True)
        for kind, schema in was["body"].items():
            yield from sent.misfits(f"{route} body", schema, now["body"].get(kind))
        read = Fitting(new, old, is_sent=False)
        for status, kinds in was["responses"].items():
            for kind, schema in kinds.items():
                yield from read.misfits(f"{route} {status}", now["responses"].get(status, {}).get(kind), schema)


def _parameters(at: str, old: Contract, was: Schema, new: Contract, now: Schema) -> Iterator[str]:
    for name, schema in was.items():
        yield from Fitting(old, new, is_sent=True).misfits(f"{at}{name}", schema, now.get(name))
    for name, schema in now.items():
        if schema["required"] and not was.get(name, {}).get("required", False):
            yield f"{at}{name}: now required"


@dataclass(frozen=True)
class Fitting:
    """Whether all that one contract's schema allows, another's allows too: what is sent, or what is read."""

    giver: Contract
    taker: Contract
    is_sent: bool

    def misfits(
        self, at: str, given: Schema | None, taken: Schema | None, seen: frozenset[str] = frozenset()
    ) -> list[str]:
        """Where it does not; a name that is met inside itself was looked at there."""
        if given is None or taken is None:
            return [f"{at}: gone"]
        if (pair := f"{given.get('$ref')} {taken.get('$ref')}") in seen:
            return []
        seen = seen | {pair} if "$ref" in given else seen
        problems = []
        for kind in self.giver.kinds(given):
            tried = [list(self._one(at, kind, other, seen)) for other in self.taker.kinds(taken)]
            problems += min(tried, key=len)
        return problems

    def _one(self, at: str, given: Schema, taken: Schema, seen: frozenset[str]) -> Iterator[str]:
        was, now = given.get("type"), taken.get("type")
        if now is None and "enum" not in taken and "const" not in taken:
            return
        if was != now and (was, now) != ("integer", "number"):
            yield from [f"{at}: {now} became {was}" if not self.is_sent else f"{at}: {was} became {now}"] * 100
            return
        yield from self._values(at, given, taken)
        if was == "object":
            yield from self._fields(at, given, taken, seen)
        if was == "array" and "items" in taken:
            yield from self.misfits(f"{at}[]", given.get("items", {}), taken["items"], seen)

    def _values(self, at: str, given: Schema, taken: Schema) -> Iterator[str]:
        values = [set(map(str, one.get("enum", [one["const"]] if "const" in one else []))) for one in (given, taken)]
        if values[1] and (more := sorted(values[0] - values[1]) or ([] if values[0] else ["any value"])):
            yield f"{at}: {'no longer' if self.is_sent else 'now also'} {', '.join(more)}"
        if taken.get("format", given.get("format")) != given.get("format") or (
            self.is_sent and taken.get("pattern", given.get("pattern")) != given.get("pattern")
        ):
            yield f"{at}: another format"
        if (
            self.is_sent
            and not values[0]
            and (
                any(name in taken and taken[name] > given.get(name, 0) for name in LOWER)
                or any(name in taken and taken[name] < given.get(name, float("inf")) for name in UPPER)
            )
        ):
            yield f"{at}: narrower limits"

    def _fields(self, at: str, given: Schema, taken: Schema, seen: frozenset[str]) -> Iterator[str]:
        had, wanted = given.get("properties", {}), taken.get("properties", {})
        old, new = (had, wanted) if self.is_sent else (wanted, had)
        yield from (f"{at}.{name}: gone" for name in old.keys() - new.keys())
        for name in set(taken.get("required", ())) - set(given.get("required", ())):
            if self.is_sent or name in had:
                yield f"{at}.{name}: {'now required' if self.is_sent else 'no longer always there'}"
        for name in had.keys() & wanted.keys():
            yield from self.misfits(f"{at}.{name}", had[name], wanted[name], seen)
        if isinstance(more := taken.get("additionalProperties"), dict):
            others = given.get("additionalProperties", {})
            yield from self.misfits(f"{at}.*", others if isinstance(others, dict) else {}, more, seen)
