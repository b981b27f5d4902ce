"""Plans of consults on cases over real guidelines: are they from the right guideline, whole, safe and for this patient?

    python -m bench.quality.plans --set dev --misses --json bench/results/plans.json

Each case says what was told, the diagnoses, which documents a plan may quote, what must and must not be among its
advice, and which warnings it must give. A plan is usable when all of that holds; it is partly usable when nothing in it
comes from elsewhere, nothing is there that must not be, and half of what must be there is.

The set planted_dev holds small cases for warnings alone: the medicine and the reason that one must name, or that none
may name, each with its alternatives split by |.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import citewell
from citewell.app import App
from citewell.types import User

HERE = Path(__file__).parent
REASON = "measured by the bench"


@dataclass(frozen=True)
class PlanResult:
    """What the plan of one case holds, compared with what a clinician asked of it."""

    id: str
    right: int
    fine: int
    other: tuple[str, ...]
    """Lines from a guideline on another illness."""
    lacking: tuple[str, ...]
    forbidden: tuple[str, ...]
    unwarned: tuple[str, ...]
    alarms: tuple[str, ...]
    """Warnings of what is harmless."""
    must: int
    warnings: int
    harmless: int
    lines: int

    @property
    def verdict(self) -> str:
        if not (self.other or self.forbidden or self.lacking or self.unwarned or self.alarms):
            return "usable"
        is_safe = not (self.other or self.forbidden or self.unwarned or self.alarms)
        return "partly" if is_safe and 2 * len(self.lacking) <= self.must else "not"


def cases(file: Path) -> list[dict[str, Any]]:
    every = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    lists = dict.fromkeys(("right_sources", "fine_sources", "must", "must_not", "warnings", "harmless"), ())
    return [{**lists, **case} for case in every]


def documents(every: Sequence[Mapping[str, Any]]) -> list[str]:
    """The documents of all cases: their one library."""
    own = (name for case in every if isinstance(case["library"], list) for name in case["library"])
    told = (name for case in every for name in (*case["right_sources"], *case["fine_sources"]))
    return sorted({*own, *told})


def lines_of(plan: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each line that a plan offers, with its document."""
    for one in plan.get("referrals", ()):
        yield one["text"], one["place"]["document"]
    for diagnosis in plan["diagnoses"]:
        for one in diagnosis["offered"]:
            yield one["text"], one["place"]["document"]
    for one in plan["leads"]:
        yield one["quote"], one["document"]


def warned_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each conflict that a plan tells of, wherever it stands."""
    told = list(plan.get("warnings", ()))
    for diagnosis in plan["diagnoses"]:
        for one in (*diagnosis["offered"], *diagnosis["held_back"]):
            told += one["conflicts"]
    return told


def is_told(one: Mapping[str, str], warned: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a warning is of a medicine, for a reason: the words of both stand in it."""
    texts = [f"{told['medicine']} {told['text']}".casefold() for told in warned]
    wanted = [one[key].casefold().split("|") for key in ("about", "because") if key in one]
    return any(all(any(word in text for word in words) for words in wanted) for text in texts)


def result_of(case: Mapping[str, Any], plan: Mapping[str, Any], titles: Mapping[str, str]) -> PlanResult:
    offered = list(lines_of(plan))
    words = " ".join(text for text, _ in offered).casefold()
    warned = warned_of(plan)
    held = [one["text"] for diagnosis in plan["diagnoses"] for one in diagnosis["held_back"]]
    said = [diagnosis["said"] for diagnosis in plan["diagnoses"] if not diagnosis["is_found"]]
    whole = " ".join((words, *held, *said, *plan["notes"], *(one["text"] for one in warned))).casefold()
    right = {titles[name] for name in case["right_sources"]}
    fine = {titles[name] for name in case["fine_sources"]}
    return PlanResult(
        id=case["id"],
        right=sum(document in right for _, document in offered),
        fine=sum(document in fine - right for _, document in offered),
        other=tuple(f"{document}: {text}" for text, document in offered if document not in right | fine),
        lacking=tuple(
            " | ".join(either) for either in case["must"] if not any(one.casefold() in whole for one in either)
        ),
        forbidden=tuple(one for one in case["must_not"] if one.casefold() in words),
        unwarned=tuple(
            f"{one.get('kind', one.get('because'))}: {one['about']}"
            for one in case["warnings"]
            if not is_told(one, warned)
        ),
        alarms=tuple(f"{one['because']}: {one['about']}" for one in case["harmless"] if is_told(one, warned)),
        must=len(case["must"]),
        warnings=len(case["warnings"]),
        harmless=len(case["harmless"]),
        lines=len(offered),
    )


def planned(app: App, case: Mapping[str, Any]) -> Mapping[str, Any]:
    """The plan of a case, as the consult makes it."""
    service, asker = app.consult.service, User.owner(app.scope_of_owner())
    consult_id = service.start(asker).consult.id
    for message in case["messages"]:
        service.say(consult_id, message, asker)
    service.acknowledge(consult_id, asker)
    entered = [(condition, "high") for condition in case["diagnoses"]]
    service.differentials(consult_id, entered, asker, despite=REASON)
    consult = service.assess(consult_id, asker).consult
    assert consult.plan is not None
    return consult.plan


def measure(
    app: App, every: Sequence[Mapping[str, Any]], titles: Mapping[str, str], *, is_shown: bool
) -> list[PlanResult]:
    found = []
    for case in every:
        plan = planned(app, case)
        found.append(result_of(case, plan, titles))
        if is_shown:
            _show(case, plan, found[-1])
    return found


def _show(case: Mapping[str, Any], plan: Mapping[str, Any], result: PlanResult) -> None:
    print(f"\n===== {case['id']} {case['diagnoses']} {result.verdict}")
    for name in ("other", "lacking", "forbidden", "unwarned", "alarms"):
        for one in getattr(result, name):
            print(f"  {name}: {one}")
    for text, document in lines_of(plan):
        print(f"  - [{document[:24]}] {text}")
    for diagnosis in plan["diagnoses"]:
        for one in diagnosis["held_back"]:
            print(f"  ~ [{one['place']['document'][:24]}] {one['text']}")
        for one in diagnosis["left_out"]:
            print(f"  x [{one['document'][:24]}] {one['reason']}: {(one.get('words') or '')[:110]}")
    for told in warned_of(plan):
        print(f"  ! {told['kind']} {told['medicine']}: {told['text']}")
    for diagnosis in plan["diagnoses"]:
        print(f"  = {diagnosis['condition']}: {diagnosis['said'][:200] if not diagnosis['is_found'] else 'found'}")


def summed(found: Sequence[PlanResult]) -> dict[str, int]:
    verdicts = [one.verdict for one in found]
    return {
        "cases": len(found),
        **{name: verdicts.count(name) for name in ("usable", "partly", "not")},
        "right_lines": sum(one.right for one in found),
        "fine_lines": sum(one.fine for one in found),
        "other_lines": sum(len(one.other) for one in found),
        "must": sum(one.must for one in found),
        "must_found": sum(one.must - len(one.lacking) for one in found),
        "must_not_present": sum(len(one.forbidden) for one in found),
        "warnings": sum(one.warnings for one in found),
        "warned": sum(one.warnings - len(one.unwarned) for one in found),
        "harmless": sum(one.harmless for one in found),
        "alarms": sum(len(one.alarms) for one in found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--set",
        choices=("dev", "dev_second", "dev_third", "planted_dev", "dev_fourth", "dev_fifth", "kept"),
        default="dev",
    )
    parser.add_argument("--home", type=Path, help="A library that holds the documents, or is to hold them.")
    parser.add_argument("--only", nargs="*", help="Ids of cases, or ends of them.")
    parser.add_argument("--misses", action="store_true", help="Print every plan with what is wrong in it.")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    every = cases(HERE / f"plans_{chosen.set}.jsonl")
    folder = chosen.data / "guidelines"
    if lacking := [name for name in documents(every) if not (folder / name).exists()]:
        raise SystemExit(f"Skipped: {folder} lacks {', '.join(lacking)}.")
    with tempfile.TemporaryDirectory() as made, citewell.open(chosen.home or Path(made)) as app:
        entries = {folder_name: app.add(folder / folder_name).entry for folder_name in documents(every)}
        titles = {name: entry.title for name, entry in entries.items()}
        if chosen.only:
            every = [case for case in every if any(case["id"].endswith(end) for end in chosen.only)]
        found = measure(app, every, titles, is_shown=chosen.misses)
    print(f"\n{'case':18} {'verdict':8} lines right fine other  must  not warned")
    for one in found:
        print(
            f"{one.id:18} {one.verdict:8} {one.lines:5} {one.right:5} {one.fine:4} {len(one.other):5}  "
            f"{one.must - len(one.lacking)}/{one.must}  {len(one.forbidden):3} "
            f"{one.warnings - len(one.unwarned)}/{one.warnings}"
        )
    for name, value in summed(found).items():
        print(f"{name:18} {value}")
    if chosen.json:
        told = {"sum": summed(found), "cases": [{**asdict(one), "verdict": one.verdict} for one in found]}
        chosen.json.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
