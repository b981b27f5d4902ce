"""SMART App Launch as a browser and a record system go through it; the record system is a real server of the test."""

from __future__ import annotations

import json
import logging
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx
import pytest
from pydantic import ValidationError
from starlette.testclient import TestClient

from citewell.api.app import create_app
from citewell.api.doors.short_lived import MOST
from citewell.app import App, build
from citewell.cli.doctor import look_at_record_systems
from citewell.config import Settings, SmartServer
from citewell.history import TrailFilter
from citewell.types import Role
from tests.conftest import SHARED
from tests.doors.ehr import Ehr, breaks_off, drips, running, sends, synthea

pytestmark = pytest.mark.slow

ORIGIN = "http://127.0.0.1:8477"
TOKEN = "a-token-for-tests"


class Browser:
    """A browser as far as cookies matter: it brings none along where another site sends it."""

    def __init__(self, app: App) -> None:
        self.http = TestClient(create_app(app, token=TOKEN), base_url=ORIGIN, follow_redirects=False)
        self.http.get(f"/?token={TOKEN}")

    def from_elsewhere(self, path: str) -> httpx.Response:
        """Come from another site to a page of ours, and follow where that leads on."""
        held = list(self.http.cookies.jar)
        self.http.cookies.clear()
        page = self.http.get(path)
        for cookie in held:
            if cookie.name not in [new.name for new in self.http.cookies.jar]:
                self.http.cookies.jar.set_cookie(cookie)
        assert page.status_code == 200, page.text
        onward = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', page.text)
        assert onward is not None
        return self.http.get(unescape(onward[1]))

    def leave(self, ehr: Ehr, *, launch: str | None = None) -> httpx.Response:
        """Begin a launch: from the record system where it names one, else from our page."""
        asked = {"iss": ehr.address} if launch is None else {"iss": ehr.address, "launch": launch}
        return self.from_elsewhere(f"/smart/launch?{urlencode(asked)}")

    def there(self, ehr: Ehr) -> str:
        """Leave and agree; the path that the record system sends the browser back to."""
        left = self.leave(ehr, launch=ehr.open())
        assert left.status_code == 303, left.text
        back = urlsplit(ehr.agree(left.headers["location"]))
        assert f"{back.scheme}://{back.netloc}{back.path}" == f"{ORIGIN}/smart/callback"
        return f"{back.path}?{back.query}"

    def opened(self, ehr: Ehr) -> str:
        """The path of the page of a patient who was opened."""
        done = self.from_elsewhere(self.there(ehr))
        assert done.status_code == 303, done.text
        return str(done.headers["location"])

    def post(self, path: str, **form: str) -> httpx.Response:
        page = self.http.get("/smart")
        csrf = re.search(r'name="csrf" value="([^"]+)"', self.http.get("/consult").text)
        assert csrf is not None
        assert page.status_code == 200
        return self.http.post(path, data={"csrf": csrf[1], **form})

    def refusal(self, ehr: Ehr) -> str:
        """What is said where a launch fails on its way back."""
        reply = self.from_elsewhere(self.there(ehr))
        assert reply.status_code in (422, 503), reply.text
        return told(reply)


def told(reply: httpx.Response) -> str:
    main = reply.text.partition("<main")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", main)).split())


@pytest.fixture(scope="module")
def server() -> Iterator[Ehr]:
    with running() as one:
        yield one


@pytest.fixture
def ehr(server: Ehr) -> Ehr:
    """The record system as it is before anything happens to it."""
    fresh = Ehr()
    for name in ("resources", "patient", "about", "token_reply", "instead", "asked", "launches", "codes", "tokens"):
        setattr(server, name, getattr(fresh, name))
    return server


@contextmanager
def here(samples_home: Path, folder: Path, ehr: Ehr, **settings: Any) -> Iterator[App]:
    home = shutil.copytree(samples_home, folder / "home")
    servers = {ehr.address: SmartServer(client_id="citewell-test", label="Ward system")}
    with build(Settings(home=home, **{"smart_servers": servers, "smart_timeout_s": 20.0, **settings})) as app:
        yield app


@pytest.fixture(scope="module")
def site(samples_home: Path, tmp_path_factory: pytest.TempPathFactory, server: Ehr) -> Iterator[App]:
    with here(samples_home, tmp_path_factory.mktemp("smart"), server) as app:
        guideline = next(entry.id for entry in app.entries() if entry.name == "breathlessness-guideline.pdf")
        app.guidelines.refresh(guideline, app.scope_of_owner())
        yield app


def trail(app: App) -> list[tuple[str, str, str]]:
    records = app.trail.records("local", TrailFilter())
    return [(record.event.action, record.event.object_id, record.event.outcome) for record in records]


def test_a_patient_opened_in_the_record_system_is_shown_with_what_was_read(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    page = told(browser.http.get(browser.opened(ehr)))
    for words in ("Ada Byrne", "Haemoptysis", "Penicillin", "Simvastatin", "Haemoglobin", "Ward system", "female"):
        assert words in page, words
    assert ("patient.open", f"{ehr.address}/Patient/p1", "done") in trail(site)
    assert "MedicationStatement?patient=p1" in " ".join(ehr.asked)
    assert not ehr.launches, "the launch was used"


def test_a_patient_is_chosen_from_our_own_page_too(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    page = browser.http.get("/smart").text
    link = re.search(r'href="(/smart/launch\?[^"]+)"', page)
    assert link is not None
    assert f"{ORIGIN}/smart/callback" in page
    assert "/smart" in browser.http.get("/guidelines").text
    assert "/smart" in browser.http.get("/consult").text
    left = browser.from_elsewhere(unescape(link[1]))
    back = urlsplit(ehr.agree(left.headers["location"]))
    done = browser.from_elsewhere(f"{back.path}?{back.query}")
    assert "Ada Byrne" in told(browser.http.get(done.headers["location"]))


def test_the_patient_is_compared_with_the_guidelines(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    done = browser.post(f"{browser.opened(ehr)}/assess", symptoms="breathless on exertion")
    assert done.status_code == 303, done.text
    page = told(browser.http.get(done.headers["location"]))
    assert "breathless on exertion" in page
    assert "Haemoptysis" in page
    assert any(action == "guideline.assess" for action, *_ in trail(site))


def test_a_consultation_starts_from_the_record_once_the_patient_agrees(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    path = browser.opened(ehr)
    refused = browser.post(f"{path}/consult")
    assert refused.status_code == 422
    assert "must consent" in told(refused)
    assert not browser.http.get("/api/v1/consults").json()["consults"]
    begun = browser.post(f"{path}/consult", consent="true")
    assert begun.status_code == 303, begun.text
    page = told(browser.http.get(begun.headers["location"]))
    assert "penicillin" in page
    assert "simvastatin" in page
    assert any(action == "consult.add" for action, *_ in trail(site))


def test_nothing_of_a_patient_is_kept_unless_asked_and_the_token_nowhere(
    site: App, ehr: Ehr, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="citewell")
    browser = Browser(site)
    path = browser.opened(ehr)
    browser.http.get(path)
    closed = browser.post(f"{path}/close")
    assert closed.status_code == 303
    assert "Nothing of them was kept" in told(browser.http.get(path))
    (token,) = ehr.tokens
    assert "Byrne" not in json.dumps([record.as_json() for record in site.trail.records("local", TrailFilter())])
    kept = b"".join(file.read_bytes() for file in site.settings.home.rglob("*") if file.is_file())
    assert token.encode() not in kept
    assert b"Byrne" not in kept
    said = "".join(record.getMessage() for record in caplog.records)
    assert token not in said
    assert "Byrne" not in said


def test_a_patient_belongs_to_the_session_that_opened_it(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    path = browser.opened(ehr)
    other = TestClient(browser.http.app, base_url=ORIGIN, follow_redirects=False)
    other.get(f"/?token={TOKEN}")
    assert other.get(path).status_code == 404
    way = urlsplit(browser.there(ehr)).query
    stolen = other.get(f"/smart/done?{way}")
    assert stolen.status_code == 422
    assert "began in another session" in told(stolen)


def test_a_state_is_good_once_and_a_code_that_was_used_is_refused(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    way = browser.there(ehr)
    assert browser.from_elsewhere(way).status_code == 303
    again = browser.from_elsewhere(way)
    assert again.status_code == 422
    assert "was used before" in told(again)
    guessed = browser.from_elsewhere("/smart/callback?code=x&state=guessed")
    assert "was used before" in told(guessed)
    fresh = browser.there(ehr)
    ehr.codes.clear()
    assert "no longer accepts this launch" in told(browser.from_elsewhere(fresh))


def test_a_launch_and_an_open_patient_end(
    samples_home: Path, tmp_path: Path, ehr: Ehr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewell.api.doors.smart.MINUTES", 0)
    with here(samples_home, tmp_path, ehr) as app:
        browser = Browser(app)
        refused = browser.leave(ehr, launch=ehr.open())
        assert refused.status_code == 422
        assert "has expired" in told(refused)


def test_of_many_patients_of_one_person_the_oldest_is_closed(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    paths = [browser.opened(ehr) for _ in range(MOST + 1)]
    assert [browser.http.get(path).status_code for path in paths] == [404, *[200] * MOST]


def test_only_a_record_system_of_the_settings_is_contacted(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    for iss in ("http://169.254.169.254/fhir", f"{ehr.address}.evil.example", f"{ehr.address}/other", "", "file:///x"):
        refused = browser.from_elsewhere(f"/smart/launch?{urlencode({'iss': iss, 'launch': 'x'})}")
        assert refused.status_code == 422
        assert "is not set up here" in told(refused)
    assert not ehr.asked


def test_none_is_set_up_unless_an_administrator_says_so(samples_home: Path, tmp_path: Path) -> None:
    home = shutil.copytree(samples_home, tmp_path / "home")
    with build(Settings(home=home)) as app:
        browser = Browser(app)
        assert "No record system yet" in told(browser.http.get("/smart"))
        assert 'href="/smart"' not in browser.http.get("/guidelines").text
        refused = browser.from_elsewhere("/smart/launch?iss=https://ehr.example/fhir")
        assert "is not set up here" in told(refused)


def test_who_is_not_signed_in_signs_in_first_and_a_reader_may_not(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    user = site.people.add(
        tenant="local", email="ann@clinic.example", name="Ann", role=Role.READER, tags=[], password="a long passphrase"
    )
    assert user.role is Role.READER
    browser.http.cookies.clear()
    waiting = browser.leave(ehr, launch=ehr.open())
    assert waiting.status_code == 401
    assert 'name="next" value="/smart/begin"' in waiting.text
    form = {"email": "ann@clinic.example", "password": "a long passphrase", "next": "/smart/begin"}
    signed_in = browser.http.post("/sign-in", data=form)
    assert signed_in.headers["location"] == "/smart/begin"
    assert browser.http.get("/smart/begin").status_code == 403
    assert not ehr.asked


@pytest.mark.parametrize(
    ("about", "words"),
    [
        ({"token_endpoint": "http://169.254.169.254/token"}, "pointed to another address"),
        ({"authorization_endpoint": "http://127.0.0.1:1/authorize"}, "pointed to another address"),
        ({"authorization_endpoint": "http://[broken/authorize"}, "pointed to another address"),
        ({"code_challenge_methods_supported": ["plain"]}, "does not offer SMART App Launch with PKCE"),
        ({"token_endpoint": None}, "does not offer SMART App Launch with PKCE"),
    ],
)
def test_a_record_system_that_lies_about_itself_is_not_gone_to(
    site: App, ehr: Ehr, about: dict[str, Any], words: str
) -> None:
    ehr.about = about
    refused = Browser(site).leave(ehr, launch=ehr.open())
    assert refused.status_code == 503
    assert words in told(refused)


def test_a_sign_in_server_on_another_host_is_named_in_the_settings(
    samples_home: Path, tmp_path: Path, ehr: Ehr
) -> None:
    elsewhere = "http://localhost:9/oauth"
    ehr.about = {"authorization_endpoint": f"{elsewhere}/authorize?tenant=1", "token_endpoint": f"{elsewhere}/token"}
    servers = {ehr.address: SmartServer(client_id="citewell-test", sign_in="http://localhost:9")}
    with here(samples_home, tmp_path, ehr, smart_servers=servers) as app:
        left = Browser(app).leave(ehr, launch=ehr.open())
        assert left.headers["location"].startswith(f"{elsewhere}/authorize?tenant=1&response_type=code&")


def _other_patient(ehr: Ehr) -> None:
    for one in ehr.resources:
        if one["resourceType"] == "Condition":
            ehr.instead["Condition"] = sends(
                200, {"resourceType": "Bundle", "entry": [{"resource": one | {"subject": {"reference": "Patient/p2"}}}]}
            )


def _next(ehr: Ehr, url: str) -> None:
    page = {"resourceType": "Bundle", "entry": [], "link": [{"relation": "next", "url": url}]}
    ehr.instead["Condition"] = sends(200, page)


MISDEEDS: list[tuple[str, Callable[[Ehr], object], str]] = [
    ("no patient", lambda ehr: setattr(ehr, "patient", None), "did not say which patient"),
    ("a path as patient", lambda ehr: setattr(ehr, "patient", "../Practitioner/1"), "did not say which patient"),
    ("unknown patient", lambda ehr: setattr(ehr, "patient", "p9"), "did not let Citewell read this patient"),
    ("no token", lambda ehr: ehr.token_reply.update(access_token=None), "no longer accepts this launch"),
    ("no bearer", lambda ehr: ehr.token_reply.update(token_type="mac"), "no longer accepts this launch"),
    ("a header in it", lambda ehr: ehr.token_reply.update(access_token="a\r\nX: y"), "no longer accepts this launch"),
    (
        "another Patient",
        lambda ehr: ehr.instead.update(Patient=sends(200, {"resourceType": "Patient", "id": "p2"})),
        "another patient than the one opened",
    ),
    ("another's condition", _other_patient, "another patient than the one opened"),
    ("HTML", lambda ehr: ehr.instead.update(Condition=sends(200, b"<html>", "text/html")), "did not send FHIR data"),
    ("no JSON", lambda ehr: ehr.instead.update(Condition=sends(200, b"{")), "did not send FHIR data"),
    ("a list", lambda ehr: ehr.instead.update(Condition=sends(200, [])), "did not send FHIR data"),
    ("no bundle", lambda ehr: ehr.instead.update(Condition=sends(200, {})), "did not send FHIR data"),
    ("deep", lambda ehr: ehr.instead.update(Condition=sends(200, b"[" * 100_000)), "did not send FHIR data"),
    ("breaks off", lambda ehr: ehr.instead.update(Procedure=breaks_off), "is not responding"),
    ("fails", lambda ehr: ehr.instead.update(Procedure=sends(500, {})), "stopped in the middle"),
    ("too much", lambda ehr: ehr.instead.update(Procedure=sends(200, b" " * 17_000_000)), "more than 16 MiB"),
    (
        "redirects",
        lambda ehr: ehr.instead.update(Observation=sends(302, {}, Location="http://169.254.169.254/")),
        "pointed to another address",
    ),
    (
        "token redirects",
        lambda ehr: ehr.instead.update(token=sends(307, {}, Location="http://169.254.169.254/")),
        "pointed to another address",
    ),
    ("next elsewhere", lambda ehr: _next(ehr, "http://169.254.169.254/"), "pointed to another address"),
    ("next above", lambda ehr: _next(ehr, f"{ehr.address}/../secret"), "pointed to another address"),
    ("next beside", lambda ehr: _next(ehr, f"{ehr.address}2/Condition"), "pointed to another address"),
]


@pytest.mark.parametrize(("misdeed", "words"), [case[1:] for case in MISDEEDS], ids=[case[0] for case in MISDEEDS])
def test_a_record_system_that_lies_or_stops_opens_nothing_and_says_why(
    site: App, ehr: Ehr, misdeed: Callable[[Ehr], object], words: str
) -> None:
    misdeed(ehr)
    assert words in Browser(site).refusal(ehr)
    assert ("patient.open", ehr.address, "refused") in trail(site)
    assert not any("169.254" in path or "secret" in path for path in ehr.asked)


def test_a_reply_of_another_issuer_and_a_refusal_by_the_person_open_nothing(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    assert "another record system" in told(browser.from_elsewhere(f"{browser.there(ehr)}&iss=https://other.example"))
    state = browser.there(ehr).partition("state=")[2]
    denied = browser.from_elsewhere(f"/smart/callback?error=access_denied&state={state}")
    assert "did not grant access" in told(denied)
    assert not ehr.tokens


def test_one_that_is_slow_is_given_up(samples_home: Path, tmp_path: Path, ehr: Ehr) -> None:
    ehr.instead["Procedure"] = drips
    with here(samples_home, tmp_path, ehr, smart_timeout_s=2.0) as app:
        assert "took too long" in Browser(app).refusal(ehr)


def test_one_that_is_away_says_so(samples_home: Path, tmp_path: Path) -> None:
    with running() as ehr:
        pass
    with here(samples_home, tmp_path, ehr) as app:
        refused = Browser(app).leave(ehr)
        assert refused.status_code == 503
        assert "is not responding" in told(refused)


def test_doctor_says_whether_a_record_system_responds(site: App, ehr: Ehr) -> None:
    assert look_at_record_systems(site) == ("ok", f"{ehr.address} (responding)")
    ehr.about = {"code_challenge_methods_supported": []}
    state, detail = look_at_record_systems(site)
    assert state == "failed"
    assert "PKCE" in detail


def test_a_part_that_may_not_be_read_is_named_and_starts_no_consultation(site: App, ehr: Ehr) -> None:
    ehr.instead["AllergyIntolerance"] = sends(403, {"resourceType": "OperationOutcome"})
    ehr.instead["MedicationStatement"] = sends(404, b"none", "text/plain")
    outcome = {"resourceType": "OperationOutcome", "issue": [{"severity": "warning", "diagnostics": "Some are hidden"}]}
    ehr.instead["Procedure"] = sends(200, {"resourceType": "Bundle", "entry": [{"resource": outcome}]})
    browser = Browser(site)
    path = browser.opened(ehr)
    page = told(browser.http.get(path))
    assert "Allergies: not permitted" in page
    assert "Medicines taken: the record system does not offer this search" in page
    assert "Ward system says: Some are hidden" in page
    refused = browser.post(f"{path}/consult", consent="true")
    assert refused.status_code == 422
    assert "could not be read: allergies" in told(refused)
    assert browser.post(f"{path}/assess").status_code == 303


def test_pages_without_end_and_too_few_entries_are_not_used(site: App, ehr: Ehr) -> None:
    _next(ehr, f"{ehr.address}/Condition?patient=p1&again")
    ehr.instead["Procedure"] = sends(200, {"resourceType": "Bundle", "total": 3, "entry": []})
    browser = Browser(site)
    page = told(browser.http.get(browser.opened(ehr)))
    assert "pages without end" in page
    assert "only 0 of 3 entries were sent" in page
    assert "Haemoptysis" not in page


@pytest.mark.parametrize(
    "address",
    ["http://ehr.example", "ftp://ehr.example", "https://", "https://u:p@ehr.example", "http://127.0.0.1.evil.example"],
)
def test_an_address_that_is_not_safe_is_no_setting(address: str) -> None:
    with pytest.raises(ValidationError):
        Settings(smart_servers={address: SmartServer(client_id="x")})


def test_the_settings_are_read_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CITEWELL_SMART_SERVERS", json.dumps({"https://ehr.example/fhir/": {"client_id": "c"}}))
    assert Settings().smart_servers == {"https://ehr.example/fhir": SmartServer(client_id="c")}


@pytest.mark.skipif(not (SHARED / "fhir").is_dir(), reason="needs ../shared/data/fhir")
def test_whole_patients_of_synthea_are_read_over_many_pages(site: App, ehr: Ehr) -> None:
    browser = Browser(site)
    for file in sorted((SHARED / "fhir").glob("*.json"))[:2]:
        ehr.resources = synthea(file)
        ehr.patient = next(one["id"] for one in ehr.resources if one["resourceType"] == "Patient")
        path = browser.opened(ehr)
        page = told(browser.http.get(path))
        count = sum(one["resourceType"] == "Condition" for one in ehr.resources)
        assert f"Conditions: {count} entries" in page
        assert "Not read" not in page
        assert browser.post(f"{path}/assess").status_code == 303
        assert browser.post(f"{path}/consult", consent="true").status_code == 303
    assert any("page=" in path for path in ehr.asked)
