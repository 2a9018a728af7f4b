"""Dossiers through the portal: the list, verifying beside the server, single files and the zip."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from fabric_pipeline.settings import Settings
from fabric_pipeline.workflows.dossier_bag import check_bag
from fabric_pipeline.workflows.dossier_build import build_dossier
from fabric_pipeline_tests.portal.auditor_homes import portal
from fabric_pipeline_tests.portal.serving import Answer, ask
from fabric_pipeline_tests.workflows.dossier_drops import START, World, make_world

HERE = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="module")
def bag(world: World) -> Path:
    return build_dossier(world.settings, world.ledger, world.accused, START).path


@pytest.fixture(scope="module")
def url(world: World, bag: Path) -> Iterator[str]:
    with portal(world.settings) as address:
        yield address


def download(url: str, path: str) -> tuple[int, dict[str, str], bytes]:
    connection = HTTPConnection(urlsplit(url).hostname or "", urlsplit(url).port, timeout=20)
    connection.request("GET", path, headers={"Accept-Encoding": "gzip"})
    reply = connection.getresponse()
    body = reply.read()
    connection.close()
    return reply.status, {name.lower(): value for name, value in reply.getheaders()}, body


def verified(url: str, name: str) -> Answer:
    assert ask(url, "/dossiers/verify", body=f"name={quote(name)}", headers=HERE).status == 303
    until = time.monotonic() + 60
    while '"is_over":false' in ask(url, f"/dossiers/{name}/state").text:
        assert time.monotonic() < until
        time.sleep(0.1)
    return ask(url, f"/dossiers/{name}")


def test_the_list_and_the_files_are_shown(url: str, bag: Path) -> None:
    listed = ask(url, "/dossiers").text
    assert f"/dossiers/{bag.name}" in listed
    assert "not yet" in listed
    text = ask(url, f"/dossiers/{bag.name}").text
    sha256 = hashlib.sha256((bag / "data/incident.json").read_bytes()).hexdigest()
    assert "data/incident.json" in text
    assert sha256[:16] in text
    assert "Ledger-Head" in text


def test_a_file_is_a_download_with_its_own_bytes(url: str, bag: Path) -> None:
    for path in ("data/incident.json", "data/figure.svg", "bag-info.txt"):
        status, headers, body = download(url, f"/evidence/{bag.name}/{path}")
        assert status == 200
        assert body == (bag / path).read_bytes()
        assert headers["content-disposition"].startswith("attachment;")
        assert headers["x-content-type-options"] == "nosniff"
        assert int(headers["content-length"]) == len(body)
    assert (
        download(url, f"/evidence/{bag.name}/data/figure.svg")[1]["content-type"]
        == "application/octet-stream"
    )


def test_the_zip_is_a_bag_and_the_same_each_time(url: str, bag: Path, tmp_path: Path) -> None:
    status, headers, body = download(url, f"/evidence/{bag.name}.zip")
    assert status == 200
    assert headers["content-type"] == "application/zip"
    assert download(url, f"/evidence/{bag.name}.zip")[2] == body
    with zipfile.ZipFile(io.BytesIO(body)) as packed:
        packed.extractall(tmp_path)
    assert check_bag(tmp_path / bag.name)[0] == []


@pytest.mark.parametrize(
    "path",
    [
        "../../ledger.sqlite", "..%2f..%2fledger.sqlite", "%2e%2e/%2e%2e/ledger.sqlite", "data/../../../ledger.sqlite",
        "/etc/passwd", "%2fetc%2fpasswd", "data", "data/", "", "data//incident.json", "./bag-info.txt", "bag-info.txt%00",
        "data%5cincident.json", "link", "folder/passwd", "pipe",
    ],
)  # fmt: skip
def test_no_path_leaves_the_dossier(url: str, bag: Path, path: str) -> None:
    entries = {"link": "/etc/passwd", "folder": "/etc"}
    for name, target in entries.items():
        if not (bag / name).is_symlink():
            (bag / name).symlink_to(target)
    if not (bag / "pipe").exists():
        os.mkfifo(bag / "pipe")
    try:
        answer = ask(url, f"/evidence/{bag.name}/{path}")
        assert answer.status == 404
        assert "root:" not in answer.text
        assert "/etc/passwd" not in download(url, f"/evidence/{bag.name}.zip")[2].decode("latin-1")
    finally:
        for name in (*entries, "pipe"):
            (bag / name).unlink()


@pytest.mark.parametrize("name", ["..", "%2e%2e", ".", "no-such", "..%2fdossiers", "a%20b", "%00"])
def test_no_name_leaves_the_folder_of_dossiers(url: str, name: str) -> None:
    for path in (f"/dossiers/{name}", f"/evidence/{name}/bag-info.txt", f"/evidence/{name}.zip"):
        assert ask(url, path).status == 404
    assert ask(url, "/dossiers/verify", body=f"name={name}", headers=HERE).status == 404


def test_a_dossier_behind_a_link_is_none(url: str, world: World, bag: Path) -> None:
    link = world.settings.dossiers / "INC-link--d1"
    link.symlink_to(bag)
    try:
        assert ask(url, f"/dossiers/{link.name}").status == 404
        assert link.name not in ask(url, "/dossiers").text
    finally:
        link.unlink()


def test_verifying_tells_what_holds_and_what_does_not(
    world: World, bag: Path, tmp_path: Path
) -> None:
    settings = Settings(root=tmp_path, home=tmp_path / "warehouse")
    shutil.copytree(world.settings.home, settings.home)
    copy = settings.dossiers / bag.name
    with portal(settings) as url:
        assert ask(url, "/dossiers/verify", body=f"name={bag.name}").status == 403
        good = verified(url, bag.name)
        assert '<span class="state good">holds' in good.text
        assert "checks that held" in good.text
        assert "holds" in ask(url, "/dossiers").text
        (copy / "data/README.txt").write_text("all is well")
        bad = verified(url, bag.name)
        assert '<span class="state critical">does not hold' in bad.text
        assert "data/README.txt" in bad.text
        assert "do not rely on this dossier" in bad.text


def test_a_home_without_dossiers_says_so(tmp_path: Path) -> None:
    with portal(Settings(root=tmp_path, home=tmp_path / "new")) as url:
        assert "None has been built" in ask(url, "/dossiers").text
