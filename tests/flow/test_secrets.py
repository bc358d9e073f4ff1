"""A crawl with a secret in every place for one, under a restricted user of Redis, with failures: is one shown?"""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from crawl_tasks.local.redis_server import RedisServer, find_server, free_port
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from tests.flow.world import CELERY, ROOT, World
from tests.members_forum import PASSWORD, MembersForum
from tests.unit.small_proxy import SmallProxy
from tests.waiting import PATIENCE_S, eventually

PLANTED = "planted"  # part of every secret
CRAWL_TASKS = [sys.executable, "-m", "crawl_tasks"]
COMMANDS = (
    "status", "check --json", "check --deep", "dead list --json", "sites check", "recover",
    "--debug export -o -",
)  # fmt: skip
MAY_NOT = ("FLUSHALL", "FLUSHDB", "KEYS *", "CONFIG GET *", "SHUTDOWN", "MODULE LIST", "ACL LIST")
MAY_NOT += ("GET other:key", "SET other:key x", "MONITOR", "SAVE", "REPLICAOF NO ONE", "SCRIPT FLUSH")


@pytest.fixture
def proxy() -> Iterator[SmallProxy]:
    with SmallProxy(f"ann:{PLANTED}-proxy") as proxy:
        yield proxy


@pytest.fixture
def guarded(tmp_path: Path, proxy: SmallProxy) -> Iterator[World]:
    """A world whose Redis knows only the users of docker/users.conf."""
    server = RedisServer(tmp_path / "redis")
    server.start()
    with redis.Redis.from_url(server.url) as admin:
        for line in (ROOT / "docker" / "users.conf").read_text().replace("CHANGE-ME", PLANTED).splitlines():
            if line.startswith("user "):
                admin.execute_command("ACL", "SETUSER", *line.split()[1:])
        server.url = f"redis://crawl:{PLANTED}-CRAWL@127.0.0.1:{server.port}/0"
        world = World(tmp_path, server)
        world.environment |= {
            "CRAWL_DATABASE_URL": f"postgresql://ann:{PLANTED}-database@127.0.0.1:1/crawl",
            "CRAWL_WEB_PASSWORD": f"{PLANTED}-web",
            "CRAWL_ALERT_TO": f"https://127.0.0.1:1/{PLANTED}-hook",
            "CRAWL_ALERT_DINGTALK_SECRET": f"{PLANTED}-dingtalk",
            "CRAWL_SITES_DIR": str(ROOT / "config" / "sites"),
            "FORUM_COOKIE": f"session={PLANTED}-cookie",
            "FORUM_DEMO_PASSWORD": PASSWORD,
            "CRAWL_SESSION_KEY": f"{PLANTED}-key-of-more-than-32-characters",
            "CRAWL_PROXY": f"http://ann:{PLANTED}-proxy@{proxy.place}",
        }
        try:
            yield world
            assert admin.acl_log() == []
        finally:
            world.close()
            server.stop()


def publish_with_secret(world: World, base: str) -> None:
    site = world.publish(base)
    site = site.model_copy(update={"secret_headers": {"Cookie": "FORUM_COOKIE"}})
    publish_site(world.frontier, site, contact=None)


def test_no_secret_shows_in_logs_messages_ledger_or_output_and_the_restricted_user_can_crawl(
    guarded: World, proxy: SmallProxy
) -> None:
    world = guarded
    site = world.forum("--fault", "error /post/1000.* times=1", "--fault", "redirect_private /comment/1000.*")
    publish_with_secret(world, site.base)
    members = MembersForum()
    rules = members.rules().replace("name: demo", "name: members")
    publish_site(world.frontier, parse_site(rules, "members.yaml"), contact=None)
    given = f"FORUM_COOKIE={site.base} FORUM_DEMO_PASSWORD={members.server.base}"
    world.environment["CRAWL_FORUM_SECRETS"] = given
    world.start("events", *CELERY, "events", "--dump")
    world.start("list", *CELERY, "worker", "-Q", "list", "-n", "list@%h", "-l", "debug", "-E")
    world.environment["CRAWL_LOG_FORMAT"] = "json"
    world.start("rest", *CELERY, "worker", "-Q", "detail,store", "-n", "rest@%h", "-l", "debug", "-E")
    world.start("exporter", *CRAWL_TASKS, "exporter", "--listen", f"127.0.0.1:{(port := free_port())}")
    eventually(lambda: "heartbeat" in world.log_of("events"))  # it hears the workers by now
    world.start("beat", *CELERY, "beat", "-l", "debug")

    eventually(lambda: world.count_requests().done > 100 and world.count_requests().open == 0, every_s=0.1)
    eventually(lambda: "cannot store" in world.log_of("rest"))
    eventually(lambda: {visit.target for visit in members.server.visits} >= {"/post/1", "/post/2", "/post/3"})
    masks = {name: umask_of(process.pid) for name, process in world.processes.items() if name != "forum"}
    assert masks == dict.fromkeys(("list", "rest", "exporter", "beat"), 0o077) | {"events": masks["events"]}
    asked = set(proxy.asked)  # before `sites check` publishes the site of another address
    started = [world.start(f"command{n}", *CRAWL_TASKS, *words.split()) for n, words in enumerate(COMMANDS)]
    for number, process in enumerate(started):  # some fail, as they must: what they print is what counts
        process.wait(timeout=PATIENCE_S)
        del world.processes[f"command{number}"]
    for page in ("", "metrics", "api/snapshot", "site/demo"):
        eventually(lambda page=page: save(world, port, page))

    members.server.stop()
    assert asked == {site.base.removeprefix("http://"), members.server.place}
    assert members.logins == [PASSWORD]
    assert "fetch_post" in world.log_of("events")
    assert world.frontier.outbox.size() > 100
    assert [str(path) for path in world.directory.rglob("*") if path.is_file() and shows(path)] == []


def umask_of(pid: int) -> int:
    """Return the mask of a process: the rights that its new files do not give."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(next(line for line in status.splitlines() if line.startswith("Umask:")).split()[1], 8)


def save(world: World, port: int, page: str) -> bool:
    """Keep a page of the exporter; say whether it came."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}", timeout=60) as answer:
            return bool((world.directory / f"page-{page.replace('/', '-')}").write_bytes(answer.read()))
    except OSError:  # not up yet
        return False


def shows(path: Path) -> bool:
    return PLANTED.encode() in path.read_bytes()


@pytest.mark.parametrize("command", MAY_NOT)
def test_the_crawlers_user_may_not(redis_server: RedisServer, client: redis.Redis, command: str) -> None:
    [line] = [
        line for line in (ROOT / "docker" / "users.conf").read_text().splitlines() if line.startswith("user crawl")
    ]
    client.execute_command("ACL", "SETUSER", "crawl-tried", *line.split()[2:])

    with redis.Redis.from_url(redis_server.url, username="crawl-tried", password="CHANGE-ME-CRAWL") as crawl:
        assert crawl.ping()
        with pytest.raises(redis.exceptions.NoPermissionError):
            crawl.execute_command(*command.split())

    client.execute_command("ACL", "DELUSER", "crawl-tried")


def test_a_server_reads_the_users_beside_its_options(tmp_path: Path) -> None:
    port = free_port()
    conf, users = (str(ROOT / "docker" / name) for name in ("redis.conf", "users.conf"))
    told = [find_server(), conf, "--include", users, "--port", str(port), "--dir", str(tmp_path)]
    with subprocess.Popen(told, stdout=subprocess.DEVNULL) as server:
        try:
            admin = redis.Redis(port=port, username="admin", password="CHANGE-ME-ADMIN", retry=None)
            eventually(lambda: answers(admin))
            users = admin.acl_users()
            with pytest.raises(redis.exceptions.AuthenticationError), redis.Redis(port=port) as nobody:
                nobody.ping()
            admin.close()
        finally:
            server.terminate()

    assert set(users) == {"default", "admin", "crawl", "flower"}


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
