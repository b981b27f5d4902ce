"""What a FHIR bundle holds besides facts, a line for each entry: plans, goals, family, devices, insurance."""

from __future__ import annotations

from collections.abc import Callable

from citewell.adapters.records.bundle import Bundle, Json
from citewell.adapters.records.fhir_values import about, called, each, ending, first, moment, must_name, name_of
from citewell.types.facts import PartialDate
from citewell.types.facts_line import shown

OTHERS = {
    "CarePlan": "Care plans",
    "Goal": "Goals",
    "DiagnosticReport": "Reports",
    "ImagingStudy": "Imaging",
    "FamilyMemberHistory": "Family history",
    "Device": "Devices and implants",
    "DeviceUseStatement": "Devices and implants",
    "Coverage": "Insurance",
    "ExplanationOfBenefit": "Insurance",
    "CareTeam": "Care team",
    "RelatedPerson": "Contacts",
    "Consent": "Advance directives and consents",
    "ClinicalImpression": "Assessment",
    "NutritionOrder": "Diet",
}
"""The sections of the document for what is no fact, in this order."""


def _care_plan(plan: Json, bundle: Bundle) -> str:
    activities = [name_of(one.get("detail", {}).get("code")) for one in plan.get("activity", [])]
    name = next((name for one in plan.get("category", []) if (name := name_of(one))), plan.get("title") or "Care plan")
    reasons = dict.fromkeys(reason for held in each(plan, "addresses") if (reason := about(bundle, held, within=plan)))
    because = f"for {', '.join(reasons)}" if reasons else ""
    return _line(name, [plan.get("status"), _period(plan), ", ".join(filter(None, activities)), because])


def _goal(goal: Json, _bundle: Bundle) -> str:
    targets = [_quantity(held.get("detailQuantity")) for held in each(goal, "target")]
    reached = name_of(goal.get("achievementStatus"))
    return _line(must_name(goal.get("description")), [goal.get("lifecycleStatus") or "goal", reached, *targets])


def _report(report: Json, _bundle: Bundle) -> str:
    results = [one.get("display") for one in report.get("result", [])]
    found = report.get("conclusion") or ", ".join(str(result) for result in results if result)
    return f"{must_name(report.get('code'))}: {shown(moment(report, 'effectiveDateTime', 'effectivePeriod'))}; {found}"


def _imaging(study: Json, _bundle: Bundle) -> str:
    series = first(study, "series") or {}
    part = series.get("bodySite", {}).get("display") or "body part not stated"
    kind = series.get("modality", {}).get("display") or "Imaging"
    return f"{kind}: {part}; {shown(moment(study, 'started'))}"


def _relative(relative: Json, _bundle: Bundle) -> str:
    """A member of the family with their illnesses, and at what age each began."""
    illnesses = []
    for held in each(relative, "condition"):
        age = _quantity(held.get("onsetAge")) or held.get("onsetString")
        cause = "cause of death" if held.get("contributedToDeath") else None
        aside = ", ".join(str(part) for part in (age and f"at {age}", cause, name_of(held.get("outcome"))) if part)
        illnesses.append(must_name(held.get("code")) + (f" ({aside})" if aside else ""))
    died = _quantity(relative.get("deceasedAge")) or relative.get("deceasedDate") or relative.get("deceasedString")
    gone = f"died at {died}" if died else "has died" if relative.get("deceasedBoolean") else None
    who = name_of(relative.get("relationship")) or "Relative"
    return _line(who, [relative.get("name"), gone, ", ".join(illnesses)])


def _device(device: Json, _bundle: Bundle) -> str:
    names = [held.get("name") for held in each(device, "deviceName")]
    name = name_of(device.get("type")) or next(filter(None, names), None) or device.get("modelNumber") or "Device"
    maker = device.get("manufacturer")
    made = maker and f"made by {maker}"
    numbers = [device.get(key) and f"{label} {device[key]}" for key, label in _NUMBERS]
    return _line(name, [device.get("status"), made, *numbers])


_NUMBERS = (("lotNumber", "lot"), ("serialNumber", "serial number"))


def _use(use: Json, bundle: Bundle) -> str:
    held = bundle.referred(use.get("device"), within=use)
    name = (held and name_of(held.resource.get("type"))) or called(bundle, use.get("device"), within=use) or "Device"
    at = moment(use, "timingDateTime", "timingPeriod", "recordedOn")
    return _line(name, [use.get("status"), at and f"since {shown(at)}", name_of(use.get("bodySite"))])


def _cover(cover: Json, bundle: Bundle) -> str:
    """An insurance: who pays, of which kind, under which number, for how long."""
    payer, kind = _payer(cover, bundle), name_of(cover.get("type"))
    numbers = [cover.get("subscriberId") and f"member number {cover['subscriberId']}"]
    numbers += [f"{name_of(held.get('type')) or 'class'} {held.get('value')}" for held in each(cover, "class")]
    name = payer or kind or "Insurance"
    return _line(name, [kind and kind != name and kind, cover.get("status"), *numbers, _period(cover)])


def _payer(cover: Json, bundle: Bundle) -> str:
    return ", ".join(name for held in each(cover, "payor") if (name := called(bundle, held, within=cover)))


def _billed(bill: Json, bundle: Bundle) -> str:
    """The insurances that a bill was sent to."""
    names = []
    for held in each(bill, "insurance"):
        reference = held.get("coverage") or {}
        cover = bundle.referred(reference, within=bill)
        names.append((cover and _payer(cover.resource, bundle)) or reference.get("display"))
    told = ", ".join(dict.fromkeys(str(name) for name in names if name))
    return f"{told}: named in bills as the insurance" if told else ""


def _team(team: Json, bundle: Bundle) -> str:
    people = []
    for held in each(team, "participant"):
        if name := called(bundle, held.get("member"), within=team):
            role = name_of(first(held, "role"))
            people.append(f"{name} ({role})" if role else name)
    return _line(team.get("name") or "Care team", [team.get("status"), ", ".join(people), _period(team)])


def _related(person: Json, bundle: Bundle) -> str:
    name = called(bundle, {"reference": f"RelatedPerson/{person.get('id')}"}) or "Contact"
    ways = [str(way["value"]) for way in each(person, "telecom") if way.get("value")]
    return _line(name, [name_of(first(person, "relationship")), *ways])


def _consent(consent: Json, _bundle: Bundle) -> str:
    kinds = [name for held in each(consent, "category") if (name := name_of(held))]
    provision = consent.get("provision") or {}
    at = moment(consent, "dateTime")
    return _line(", ".join(kinds) or "Consent", [consent.get("status"), provision.get("type"), at and shown(at)])


def _impression(impression: Json, _bundle: Bundle) -> str:
    found = [name for held in each(impression, "finding") if (name := name_of(held.get("itemCodeableConcept")))]
    at = moment(impression, "effectiveDateTime", "date")
    return _line("Assessment", [at and shown(at), impression.get("summary"), ", ".join(found)])


def _diet(order: Json, _bundle: Bundle) -> str:
    kinds = [name for held in each(order.get("oralDiet") or {}, "type") if (name := name_of(held))]
    at = moment(order, "dateTime")
    return _line(", ".join(kinds) or "Diet", [order.get("status"), at and shown(at)])


OTHER_LINES: dict[str, Callable[[Json, Bundle], str]] = {
    "CarePlan": _care_plan,
    "Goal": _goal,
    "DiagnosticReport": _report,
    "ImagingStudy": _imaging,
    "FamilyMemberHistory": _relative,
    "Device": _device,
    "DeviceUseStatement": _use,
    "Coverage": _cover,
    "ExplanationOfBenefit": _billed,
    "CareTeam": _team,
    "RelatedPerson": _related,
    "Consent": _consent,
    "ClinicalImpression": _impression,
    "NutritionOrder": _diet,
}


def _line(name: object, parts: list[object]) -> str:
    words = "; ".join(str(part) for part in parts if part)
    return f"{name}: {words}" if words else str(name)


def _quantity(quantity: object) -> str:
    """An amount in words; nothing for what is none."""
    held = quantity if isinstance(quantity, dict) else {}
    if held.get("value") is None:
        return ""
    unit = held.get("unit") or held.get("code") or ""
    return f"{held.get('comparator') or ''}{held['value']:g} {'years' if unit == 'a' else unit}".strip()


def _period(resource: Json) -> str:
    start, end = moment(resource, "period"), ending(resource, "period")
    return "" if start is None and end is None else _span(start, end)


def _span(start: PartialDate | None, end: PartialDate | None) -> str:
    return f"since {shown(start)}" + (f" until {shown(end)}" if end else "")
