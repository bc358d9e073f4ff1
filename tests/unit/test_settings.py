"""The installation's settings: from the environment, refused with a remedy, documented."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crawl_tasks.errors import SettingsError
from crawl_tasks.operate.local_environment import environment
from crawl_tasks.settings import load_settings

ROOT = Path(__file__).parents[2]


def test_what_is_not_set_is_the_default(tmp_path: Path) -> None:
    settings = load_settings({"CRAWL_STATE_DIR": str(tmp_path)})

    assert settings.redis_url == "redis://127.0.0.1:6379/0"
    assert settings.database_url == f"sqlite:///{tmp_path / 'crawl.db'}"


def test_the_running_embedded_redis_of_the_state_directory_is_found(tmp_path: Path) -> None:
    (tmp_path / "redis.url").write_text("redis://127.0.0.1:7777/0\n")

    assert load_settings({"CRAWL_STATE_DIR": str(tmp_path)}).redis_url == "redis://127.0.0.1:7777/0"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("CRAWL_REDIS_ULR", "x", "did you mean CRAWL_REDIS_URL?"),
        ("CRAWL_NOTHING_LIKE_IT", "x", "see docs/settings.md"),
        ("CRAWL_STORE_BATCH", "0", "CRAWL_STORE_BATCH"),
        ("CRAWL_STORE_BATCH", "many", "'many'"),
        ("CRAWL_HTTP_CLIENT", "wget", "CRAWL_HTTP_CLIENT"),
        ("CRAWL_REDIS_PREFIX", "A b", "CRAWL_REDIS_PREFIX"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(name: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load_settings({name: value})

    assert said in str(caught.value)
    assert name in str(caught.value)


@pytest.mark.parametrize("value", ["http://ann:hidden@proxy.example", "https://ann:hidden@proxy.example:1", "hidden"])
def test_a_wrong_proxy_is_refused_at_the_start_and_not_shown(value: str) -> None:
    with pytest.raises(SettingsError, match="CRAWL_PROXY") as caught:
        load_settings({"CRAWL_PROXY": value})

    assert "hidden" not in str(caught.value)


def test_an_empty_variable_is_as_good_as_none(tmp_path: Path) -> None:
    settings = load_settings({"CRAWL_STATE_DIR": str(tmp_path), "CRAWL_CONTACT": "", "CRAWL_HTTP_CLIENT": ""})

    assert (settings.contact, settings.http_client) == (None, "requests")


def test_a_file_may_say_what_a_variable_would(tmp_path: Path) -> None:
    (tmp_path / "to").write_text("slack+https://example.org/x\n")
    given = {"CRAWL_STATE_DIR": str(tmp_path), "CRAWL_ALERT_TO_FILE": str(tmp_path / "to"), "CRAWL_ALERT_TO": "else"}

    assert load_settings(given).alert_to.get_secret_value() == "slack+https://example.org/x"
    with pytest.raises(SettingsError, match="CRAWL_ALERT_TO_FILE: /nowhere cannot be read"):
        load_settings({"CRAWL_ALERT_TO_FILE": "/nowhere"})


def test_a_short_password_is_refused_and_not_shown() -> None:
    with pytest.raises(SettingsError, match=r"^CRAWL_WEB_PASSWORD: has fewer than 8 characters") as refused:
        load_settings({"CRAWL_WEB_PASSWORD": "sesame7"})

    assert "sesame7" not in str(refused.value)


def test_a_child_process_has_the_settings_of_its_parent_secrets_too(tmp_path: Path) -> None:
    given = {"CRAWL_STATE_DIR": str(tmp_path), "CRAWL_PROXY": "http://me:word@127.0.0.1:3128", "CRAWL_STORE_AT": "7"}
    settings = load_settings(given)

    assert load_settings({k: v for k, v in environment(settings).items() if k.startswith("CRAWL_")}) == settings


def test_a_celery_command_says_what_is_wrong_in_one_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "celery", "-A", "crawl_tasks", "worker", "-Q", "list"],
        env=os.environ | {"CRAWL_REDIS_ULR": "x"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "CRAWL_REDIS_ULR: there is no such setting; did you mean CRAWL_REDIS_URL?" in done.stderr
