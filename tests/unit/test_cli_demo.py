"""What the demo refuses before it touches anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import redis

from crawl_tasks.cli.exits import Exit
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Items, Post
from crawl_tasks.store.upsert import Store
from tests.unit.command_line import run, site_text, write_site

SITES = str(Path(__file__).parents[2] / "config" / "sites")


@pytest.mark.parametrize(("published", "options"), [("tiny", ()), ("demo", ("--fresh",))])
def test_a_redis_that_serves_a_crawl_is_not_the_demos(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis, published: str, options: tuple[str, ...]
) -> None:
    write_site(tmp_path, site_text(name=published), published)
    run("sites", "check", home=tmp_path, redis_url=redis_server.url)
    kept = tmp_path / "state" / "demo" / "kept"
    kept.parent.mkdir(parents=True)
    kept.touch()

    result = run("demo", *options, home=tmp_path, redis_url=redis_server.url, sites_dir=SITES)

    assert result.exit_code == Exit.USAGE
    [line] = result.stderr.splitlines()
    assert f"serves {published} already" in line
    assert kept.exists()


def test_a_database_that_holds_a_demo_is_not_emptied(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis
) -> None:
    url = f"sqlite:///{tmp_path}/mine.db"
    with Store(url) as store:
        store.write([Items("demo", posts=(Post("1", 1.0),))])

    result = run("demo", "--fresh", home=tmp_path, redis_url=redis_server.url, database_url=url, sites_dir=SITES)

    assert result.exit_code == Exit.USAGE
    [line] = result.stderr.splitlines()
    assert "holds a demo already" in line


def test_a_forum_on_a_port_that_is_none_is_a_wrong_usage(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "crawl_tasks.demo", "--port", "99999"]

    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    assert (ended.returncode, "Traceback" in ended.stderr) == (2, False)
    assert "write a number from 0 to 65535" in ended.stderr
