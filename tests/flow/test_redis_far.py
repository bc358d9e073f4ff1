"""Redis somewhere else: over TLS, behind Sentinels, and far away."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import redis

from crawl_tasks.celery import build_app
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.frontier.slot_throttle import TOLERANCE_S
from crawl_tasks.local.redis_server import RedisServer, find_server, free_port
from crawl_tasks.queues import PRODUCE
from crawl_tasks.settings import Settings
from tests.chaos.door import Door
from tests.far import FarServer
from tests.flow.world import CELERY, World
from tests.waiting import eventually

pytestmark = pytest.mark.flow

DELAY_S = 0.25
ENOUGH = 60

COMMAND = [sys.executable, "-m", "crawl_tasks"]


@contextmanager
def server(directory: Path, program: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server; Debian's tools hold one whose name decides what it is."""
    directory.mkdir()
    with (directory / "log").open("wb") as log:
        arguments = ["redis-server", *options, "--dir", str(directory), "--bind", "127.0.0.1"]
        process = subprocess.Popen(arguments, executable=program, stdout=log, stderr=log, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def certificate(directory: Path) -> tuple[str, str]:
    """Make a certificate for 127.0.0.1 that signs itself; give its file and that of its key."""
    made, key = directory / "ca.pem", directory / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=crawl"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-out", str(made), "-keyout", str(key)]
    subprocess.run(command, check=True, capture_output=True)
    return str(made), str(key)


@pytest.fixture
def tls_url(tmp_path: Path) -> Iterator[str]:
    program = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if program is None or shutil.which("openssl") is None:
        pytest.skip("needs a Redis with TLS (Debian: redis-tools) and openssl")
    made, key = certificate(tmp_path)
    port = free_port()
    options = ["--port", "0", "--tls-port", str(port), "--tls-cert-file", made, "--tls-key-file", key]
    with server(tmp_path / "tls", program, *options, "--tls-ca-cert-file", made, "--tls-auth-clients", "no"):
        url = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={made}"
        with redis.Redis.from_url(url, retry=None) as client:
            eventually(lambda: answers(client))
        yield url


def test_a_crawl_over_tls(tls_url: str, world: World) -> None:
    world.environment["CRAWL_REDIS_URL"] = tls_url
    client = open_client(tls_url, "")
    world.client, world.frontier = client, Frontier(client, "crawl")
    world.forum()
    world.workers()
    world.start("beat", *CELERY, "beat")
    eventually(lambda: world.count_requests().admitted > 0)
    eventually(world.is_idle, every_s=0.1)

    assert world.faults() == []
    assert f"demo: 0 open, {world.count_requests().done} done" in world.run("status", *COMMAND, "status")
    with pytest.raises(redis.ConnectionError, match="certificate"):
        redis.Redis.from_url(tls_url.partition("?")[0], retry=None).ping()


@contextmanager
def sentinel_of(master: int, directory: Path) -> Iterator[tuple[str, redis.Redis]]:
    """Run a Sentinel; give the URL that workers are told, and a client to tell it things."""
    port = free_port()
    terms = directory / "sentinel.conf"
    terms.write_text(f"port {port}\nsentinel monitor mymaster 127.0.0.1 {master} 1\n")
    with (
        server(directory / "sentinel", find_server(), str(terms), "--sentinel"),
        redis.Redis(port=port, retry=None) as sentinel,
    ):
        eventually(lambda: answers(sentinel))
        yield f"sentinel://127.0.0.1:{port}/0", sentinel


def test_client_and_transport_find_the_master_through_a_sentinel(redis_server: RedisServer, tmp_path: Path) -> None:
    with (
        sentinel_of(redis_server.port, tmp_path) as (url, _),
        open_client(url, "mymaster") as client,
        build_app(Settings(redis_url=url, state_dir=tmp_path)) as app,
    ):
        app.send_task(PRODUCE, queue="control")
        waiting = client.llen("control")
        with app.connection_for_read() as connection:
            message = connection.default_channel.basic_get("control")

    assert waiting == 1
    assert message is not None
    assert message.headers["task"] == PRODUCE


def test_a_worker_whose_connection_broke_asks_the_sentinel_who_is_master(
    redis_server: RedisServer, client: redis.Redis, tmp_path: Path
) -> None:
    other = RedisServer(tmp_path / "other")
    other.start()
    with sentinel_of(redis_server.port, tmp_path) as (url, sentinel), open_client(url, "mymaster") as ours:
        frontier = Frontier(ours, "crawl")
        Admin(frontier).restore.halt("before")
        sentinel.sentinel_remove("mymaster")
        sentinel.sentinel_monitor("mymaster", "127.0.0.1", other.port, 1)
        client.client_kill_filter(_type="normal", skipme=True)

        Admin(frontier).restore.halt("after")

        with redis.Redis.from_url(other.url) as there:
            assert there.get("crawl:halt") == b"after"
        assert client.get("crawl:halt") == b"before"
    other.stop()


@pytest.mark.long
def test_workers_far_from_redis_keep_the_delay_together_and_lose_little_of_it(world: World) -> None:
    world.forum()
    with (
        FarServer(world.server.port, 25, jitter_ms=2) as far,
        closing(Door(urlsplit(world.base).port or 0)) as door,
    ):
        world.environment["CRAWL_REDIS_URL"] = f"redis://127.0.0.1:{far.port}/0"
        world.publish(f"http://127.0.0.1:{door.port}", delay_s=DELAY_S)
        world.workers(details=2)
        world.start("beat", *CELERY, "beat")
        eventually(lambda: len(door.arrivals) >= ENOUGH)
        world.frontier.sites.pause("demo")
        eventually(lambda: world.count_requests().leased == 0)
        arrivals = sorted(door.arrivals)
        world.close()

    gaps = [after - before for before, after in pairwise(arrivals)]
    assert min(gaps) >= DELAY_S - TOLERANCE_S
    assert DELAY_S / (sum(gaps) / len(gaps)) > 0.4
