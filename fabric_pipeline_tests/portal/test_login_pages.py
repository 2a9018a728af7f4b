"""Signing in and out in the token mode, and what the other modes say; the guard has its own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from fabric_pipeline.portal.app import create_app
from fabric_pipeline.portal.identity import Auth
from fabric_pipeline.settings import Settings
from fabric_pipeline_tests.pipeline_runs import ROOT
from fabric_pipeline_tests.portal.serving import ask, served

TOKEN = "a-long-enough-token-for-tests-1234"
SAME = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home without any drop."""
    return Settings(root=ROOT, home=tmp_path)


def test_a_wrong_token_gets_the_form_again_and_no_cookie(settings: Settings) -> None:
    with served(create_app(settings, Auth("token", token=TOKEN))) as url:
        refused = ask(url, "/login", body="token=not-it", headers=SAME)
        assert refused.status == 403
        assert "not the one of this portal" in refused.text
        assert 'name="token"' in refused.text
        assert "set-cookie" not in refused.headers
        assert "not-it" not in refused.text


def test_who_signs_out_is_asked_again(settings: Settings) -> None:
    with served(create_app(settings, Auth("token", token=TOKEN))) as url:
        taken = ask(url, "/login", body=f"token={TOKEN}", headers=SAME)
        sent = {"Cookie": taken.headers["set-cookie"].partition(";")[0]}
        assert "Sign out" in ask(url, "/audit", headers=sent).text
        left = ask(url, "/logout", body="", headers=SAME | sent)
        assert (left.status, left.headers["location"]) == (303, "/login")
        assert "max-age=0" in left.headers["set-cookie"].lower()
        assert ask(url, "/logout", body="", headers=sent).status == 403


def test_other_modes_say_how_people_are_known(settings: Settings) -> None:
    with served(create_app(settings)) as url:
        assert "on this machine alone" in ask(url, "/login").text
        assert ask(url, "/login", body="token=x", headers=SAME).status == 403
    with served(create_app(settings, Auth("proxy", proxies=("127.0.0.1",)))) as url:
        known = {"X-Forwarded-User": "reviewer-1"}
        assert "a proxy in front" in ask(url, "/login", headers=known).text
        assert "<b>reviewer-1</b>" in ask(url, "/login", headers=known).text
