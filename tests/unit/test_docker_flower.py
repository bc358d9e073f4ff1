"""crawl_tasks/flowerconfig.py: nobody enters without a password but from loopback, and memory is bounded."""

from __future__ import annotations

import runpy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from celery.events.state import Task
from tornado.options import options

from crawl_tasks.celery import FLOWER_CONF
from tests.unit.docker_files import run

CREDENTIAL = "me:secret"

import_module("flower.options")  # defines them; it has no types to import it by


def flower_says(address: str, credentials: list[str], auth: str = "") -> dict[str, Any]:
    """Return the names of flowerconfig.py for what variables and command line said."""
    with pytest.MonkeyPatch.context() as patch:
        mock = options.mockable()
        patch.setattr(mock, "address", address)
        patch.setattr(mock, "basic_auth", credentials)
        patch.setattr(mock, "auth", auth)
        return runpy.run_path(str(FLOWER_CONF))


@pytest.mark.parametrize(
    ("address", "credentials", "auth"),
    [
        ("", [], ""),
        ("127.0.0.1", [""], ""),
        ("::1", [], ""),
        ("0.0.0.0", [CREDENTIAL], ""),
        ("0.0.0.0", [], "me@example.org"),
    ],
)
def test_flower_starts_on_loopback_or_behind_a_password(address: str, credentials: list[str], auth: str) -> None:
    names = flower_says(address, credentials, auth)

    assert names["address"] == (address or "127.0.0.1")
    assert "" not in names["basic_auth"]


@pytest.mark.parametrize(
    ("address", "credentials"),
    [
        ("0.0.0.0", []),
        ("0.0.0.0", [""]),
        ("::", [""]),
        ("192.0.2.1", []),
        ("0.0.0.0", ["me"]),
        ("0.0.0.0", [":"]),
        ("0.0.0.0", ["me:"]),
        ("127.0.0.1", [CREDENTIAL, "rest of a password with a comma"]),
    ],
)
def test_flower_is_refused_where_anybody_could_enter(address: str, credentials: list[str]) -> None:
    with pytest.raises(SystemExit, match="FLOWER_BASIC_AUTH"):
        flower_says(address, credentials)


def test_flower_reads_its_password_from_a_file_of_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    secret = tmp_path / "flower_basic_auth"
    secret.write_text(f"{CREDENTIAL}\n", "utf-8")
    monkeypatch.setenv("FLOWER_BASIC_AUTH_FILE", str(secret))

    names = flower_says("0.0.0.0", [""])

    assert names["basic_auth"] == [CREDENTIAL]


def test_the_real_flower_ends_at_once_without_a_password(tmp_path: Path) -> None:
    told = {"FLOWER_ADDRESS": "0.0.0.0", "FLOWER_BASIC_AUTH": "", "CRAWL_STATE_DIR": str(tmp_path)}

    said = run("celery", "-A", "crawl_tasks", "flower", environment=told, cwd=tmp_path)

    assert said.code == 1
    assert "set FLOWER_BASIC_AUTH=user:password" in said.text


def test_every_name_of_the_flower_configuration_is_an_option_of_flower() -> None:
    names = flower_says("", [])
    imported = {"options", "os", "sys", "annotations", "Path", "Task", "keep_private"}
    ours = imported | {"SHOWN_CHARS", "LOOPBACK", "credential", "user", "password", "secret"}

    meant = {name for name in names if not name.startswith("__")} - ours

    assert {"max_tasks", "persistent", "read_only", "tasks_columns", "format_task"} <= meant
    assert meant <= set(options)
    assert "args" in names["tasks_columns"].split(",")


def test_flower_shows_the_beginning_of_a_long_argument() -> None:
    format_task = flower_says("", [])["format_task"]

    shown = format_task(Task(uuid="1", args="x" * 1000, result="short"))

    assert shown.args == "x" * 300 + "..."
    assert shown.result == "short"
