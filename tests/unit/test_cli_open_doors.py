"""`crawl-tasks check` names what lies open on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import redis

from crawl_tasks.local.redis_server import RedisServer
from tests.unit.command_line import run


def problems(home: Path, url: str, **settings: str) -> dict[str, str]:
    done = run("check", "--json", home=home, redis_url=url, **settings)
    return {row["name"]: f"{row}" for row in json.loads(done.stdout)["problems"]}


@pytest.mark.parametrize(
    "name", ["crawl.db", "search.db", "redis/appendonlydir/a.aof", "logs/list.log", "archive/x.warc.gz"]
)
def test_a_file_that_others_can_read_is_named(tmp_path: Path, redis_server: RedisServer, name: str) -> None:
    file = tmp_path / "state" / name
    file.parent.mkdir(parents=True)
    for directory in (file.parent, *file.parents[1:-1]):
        if directory.is_relative_to(tmp_path / "state"):
            directory.chmod(0o700)
    file.touch()
    file.chmod(0o640)

    opened = problems(tmp_path, redis_server.url)["CrawlStateOpen"]
    file.chmod(0o600)

    assert str(file) in opened
    assert f"chmod -R go-rwx {tmp_path / 'state'}" in opened
    assert "CrawlStateOpen" not in problems(tmp_path, redis_server.url)


def test_a_redis_without_a_password_is_named_and_one_whose_password_opens_everything(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "a") as bare, RedisServer(tmp_path / "b", password="secret") as nameless:
        with redis.Redis.from_url(nameless.url) as admin:
            admin.execute_command("ACL", "SETUSER", "crawl", "on", ">pw", "~*", "&*", "+@all", "-@dangerous", "+info")
        named = nameless.url.replace(":secret@", "crawl:pw@")
        found = [problems(tmp_path, url).keys() & {"CrawlRedisOpen", "CrawlRedisNameless"}
                 for url in (bare.url, nameless.url, named)]  # fmt: skip

    assert found == [{"CrawlRedisOpen"}, {"CrawlRedisNameless"}, set()]


def test_a_forwarded_page_without_a_password_is_named(tmp_path: Path, redis_server: RedisServer) -> None:
    def is_named(**settings: str) -> bool:
        return "CrawlPageOpen" in problems(tmp_path, redis_server.url, **settings)

    assert is_named(web_hosts="status.example")
    assert not is_named(web_hosts="status.example", web_password="correct-horse")
    assert not is_named()
