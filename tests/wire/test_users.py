"""docker/users.conf on each server at hand: every command of the server, tried for each user."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.local.redis_server import RedisServer, find_server

ROOT = Path(__file__).parents[2]
USERS = (ROOT / "docker" / "users.conf").read_text("utf-8")
SERVERS = sorted({*filter(None, map(shutil.which, ("redis-server", "valkey-server"))), find_server()})

RUNS_CODE = {"eval", "evalsha", "fcall", "script|load", "script|exists", "function|load", "function|list"}
"""What the ledger needs of scripting, with FUNCTION DELETE for the libraries of earlier versions."""

FLOWER_WRITES = {"sadd", "srem", "zadd", "pexpire", "brpop", "del"}
"""Writing commands of Flower, all on the keys by which it hears replies."""


@pytest.fixture(params=SERVERS, ids=[Path(path).name for path in SERVERS])
def admin(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[redis.Redis]:
    monkeypatch.setattr("crawl_tasks.local.redis_server.find_server", lambda: request.param)
    with RedisServer(tmp_path / "redis") as server, redis.Redis.from_url(server.url) as client:
        for line in USERS.splitlines():
            if line.startswith("user "):
                client.execute_command("ACL", "SETUSER", *line.split()[1:])
        yield client


def of_category(client: redis.Redis, *names: str) -> set[str]:
    """Return the commands and subcommands of some categories, with none of all: every command is of one."""
    return {one.lower() for name in names or client.acl_cat() for one in map(text, client.acl_cat(text(name)))}


def text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def allowed(client: redis.Redis, user: str) -> set[str]:
    """Return the commands that a user may run, by the server's own word."""
    may = set()
    for command in of_category(client):
        words = command.split("|")
        answer = b""
        for more in range(9):  # a command wants its number of arguments first
            try:
                answer = client.execute_command("ACL", "DRYRUN", user, *words, *["1"] * more)
            except redis.ResponseError as error:
                answer = str(error).encode()
            if b"wrong number of arguments" not in answer:
                break
        if b"no permissions to run" not in answer and b"not found" not in answer:
            may.add(command)
    return may - {word.partition("|")[0] for word in may if "|" in word}


def test_flower_runs_no_script_and_writes_only_where_it_hears_replies(admin: redis.Redis) -> None:
    may = allowed(admin, "flower")

    assert may & of_category(admin, "scripting", "admin") == set()
    assert may & of_category(admin, "dangerous") == {"info"}
    assert may & of_category(admin, "write") == FLOWER_WRITES
    assert {"publish", "psubscribe", "llen", "brpop"} <= may  # the test hears a yes


def test_workers_run_the_ledger_and_take_no_function_away(admin: redis.Redis) -> None:
    may = allowed(admin, "crawl")

    assert may & of_category(admin, "admin") == set()
    assert may & of_category(admin, "dangerous") == {"info"}
    assert may & of_category(admin, "scripting") == RUNS_CODE | {"function|delete"}


def test_no_nameless_user_may_do_anything(admin: redis.Redis) -> None:
    assert "off" in admin.acl_getuser("default")["flags"]


@pytest.mark.parametrize(
    "command",
    [
        ("FUNCTION", "LOAD", "REPLACE", "#!lua name=x\nredis.register_function('x', function() end)"),
        ("FCALL", "crawl_LEASE", "0"),
        ("EVAL", "return 1", "0"),
        ("HSET", "crawl:sites", "x", "y"),
        ("GET", "crawl:s:demo:terms"),
        ("LPUSH", "post", "x"),
        ("LPUSH", "crawl:bell:post", "1"),
        ("LPUSH", "crawl:start", "x"),
        ("HDEL", "crawl:unacked", "x"),
        ("DEL", "list"),
        ("BRPOP", "post", "1"),
        ("SUBSCRIBE", "other"),
        ("PUBLISH", "other", "x"),
        ("SREM", "_kombu.binding.celery.pidbox", "x"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_flower_may_not(admin: redis.Redis, command: tuple[str, ...]) -> None:
    kwargs = admin.connection_pool.connection_kwargs
    with redis.Redis(port=kwargs["port"], username="flower", password="CHANGE-ME-FLOWER") as flower:
        assert flower.ping()
        with pytest.raises(redis.exceptions.NoPermissionError):
            flower.execute_command(*command)
