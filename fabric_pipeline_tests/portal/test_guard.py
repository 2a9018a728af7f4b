"""What every request passes: names, origins, sizes, identities, and the headers of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fabric_pipeline.errors import UsageError
from fabric_pipeline.portal.app import create_app
from fabric_pipeline.portal.identity import Auth, check_auth
from fabric_pipeline.portal.security import MAX_BODY_BYTES, comes_from_here
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.portal.serving import ask, served

TOKEN = "a-long-random-text-for-tests-only"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return Settings(root=ROOT, home=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def address(settings: Settings) -> Iterator[str]:
    with served(create_app(settings)) as url:
        yield url


def test_every_answer_carries_the_headers(address: str) -> None:
    for path in ("/healthz", "/no-such-page", "/static/base.css"):
        answer = ask(address, path)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
    assert ask(address, "/healthz").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host", ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test:80", "", "[::2]"]
)
def test_another_name_for_this_address_is_refused(address: str, host: str) -> None:
    assert ask(address, "/healthz", headers={"Host": host}).status == 400


def test_names_of_this_machine_are_answered(address: str) -> None:
    for host in ("127.0.0.1", "LOCALHOST:9", "[::1]:8321"):
        assert ask(address, "/healthz", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {"Authorization": "Bearer x", "Cookie": "theme=dark"},
    ],
)
def test_a_form_of_another_page_is_refused(address: str, headers: dict[str, str]) -> None:
    assert ask(address, "/login", body="token=x", headers=headers).status == 403


def test_two_places_of_origin_are_none() -> None:
    twice = [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")]
    assert not comes_from_here(
        Request({"type": "http", "headers": [(n.lower().encode(), v.encode()) for n, v in twice]})
    )


def test_a_form_of_this_page_is_taken(address: str) -> None:
    own = [
        {"Sec-Fetch-Site": "same-origin"},
        {"Origin": address},
        {"Authorization": "Bearer x"},
    ]
    for headers in own:
        assert ask(address, "/logout", body="x=1", headers=headers).status == 303


def test_a_body_without_end_is_refused(address: str) -> None:
    headers = {"Sec-Fetch-Site": "same-origin"}
    answer = ask(address, "/login", body="token=" + "x" * MAX_BODY_BYTES, headers=headers)
    assert answer.status == 413


def test_only_a_listed_proxy_may_say_who_asks(settings: Settings) -> None:
    name = {"X-Forwarded-User": "reviewer-1"}
    with served(create_app(settings, Auth("proxy", proxies=("10.9.9.9",)))) as unlisted:
        assert ask(unlisted, "/no-such-page", headers=name).status == 401
        assert ask(unlisted, "/healthz").status == 200
    with served(create_app(settings, Auth("proxy", proxies=("127.0.0.0/8",)))) as listed:
        assert ask(listed, "/no-such-page", headers=name).status == 404
        assert ask(listed, "/no-such-page").status == 401
        assert ask(listed, "/no-such-page", headers={"X-Forwarded-User": "  "}).status == 401


def test_a_token_is_asked_for_and_becomes_a_cookie(settings: Settings) -> None:
    with served(create_app(settings, Auth("token", token=TOKEN))) as url:
        assert ask(url, "/no-such-page").status == 401
        assert ask(url, "/login").status == 200
        assert "wait" not in ask(url, "/login").text
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        assert ask(url, "/no-such-page", headers=bearer).status == 404
        same = {"Sec-Fetch-Site": "same-origin"}
        taken = ask(url, "/login", body=f"token={TOKEN}", headers=same)
        cookie = taken.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        sent = {"Cookie": cookie.partition(";")[0]}
        assert ask(url, "/no-such-page", headers=sent).status == 404
        assert ask(url, "/no-such-page", headers={"Cookie": "fabric_token=no"}).status == 401


@pytest.mark.parametrize(
    ("auth", "host", "says"),
    [
        (Auth(), "0.0.0.0", "reached from other machines"),  # noqa: S104 - what is refused
        (Auth(), "fabric.example", "reached from other machines"),
        (Auth("token", token="short"), "127.0.0.1", "shorter"),
        (Auth("proxy"), "127.0.0.1", "no proxy"),
        (Auth("proxy", proxies=("nonsense",)), "10.0.0.1", "no address"),
    ],
)
def test_an_open_door_is_not_opened(auth: Auth, host: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        check_auth(auth, host)


def test_the_token_is_never_printed() -> None:
    assert TOKEN not in repr(Auth("token", token=TOKEN))


def test_vendored_files_are_those_that_are_named() -> None:
    import hashlib

    folder = Path(ROOT) / "fabric_pipeline" / "portal" / "static" / "vendor"
    rows = (folder / "SOURCES.md").read_text(encoding="utf-8").splitlines()
    named = {row.split("|")[1].strip(): row.split("|")[4].strip() for row in rows[4:] if row}
    there = {path.name for path in folder.iterdir() if path.is_file()} - {"SOURCES.md"}
    assert there == named.keys()
    for name, sha256 in named.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256


@pytest.mark.parametrize(
    "host",
    ["[::1].evil.test", "[::1]evil", "127.0.0.1:evil.test", "127.0.0.1@evil.test", "localhost:"],
)
def test_nothing_may_follow_the_name_but_a_port(address: str, host: str) -> None:
    assert ask(address, "/healthz", headers={"Host": host}).status == 400


def test_a_person_without_a_token_is_led_to_the_form(settings: Settings) -> None:
    page = {"Accept": "text/html,*/*;q=0.8"}
    with served(create_app(settings, Auth("token", token=TOKEN))) as url:
        led = ask(url, "/queue", headers=page)
        assert (led.status, led.headers["location"]) == (303, "/login")
        assert ask(url, "/queue").status == 401
        assert ask(url, "/api/matrix", headers=page | {"Sec-Fetch-Dest": "empty"}).status == 401
        assert ask(url, "/queue", headers={"Authorization": TOKEN}).status == 401
    with served(create_app(settings, Auth("proxy", proxies=("10.9.9.9",)))) as url:
        assert ask(url, "/queue", headers=page).status == 401


def test_a_page_that_fails_still_has_headers_and_a_way_on(settings: Settings) -> None:
    def fails(request: Request) -> Response:
        raise RuntimeError("a cause that only the log may know")

    app = create_app(settings)
    app.router.routes.insert(0, Route("/fails", fails))
    with served(app) as url:
        answer = ask(url, "/fails")
        assert answer.status == 500
        assert 'href="/"' in answer.text
        assert "only the log" not in answer.text
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["cache-control"] == "no-store"
