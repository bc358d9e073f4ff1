"""Flower by its own account of docker/users.conf: it sees, it can stop a worker, and nothing else."""

from __future__ import annotations

import json
import sys
import urllib.request

import pytest

from crawl_tasks.local.redis_server import free_port
from tests.flow.world import CELERY, ROOT, World
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.flow
USERS = (ROOT / "docker" / "users.conf").read_text("utf-8")


def test_flower_sees_workers_and_tasks_and_can_stop_a_worker_by_its_own_account(world: World) -> None:
    for line in USERS.splitlines():
        if line.startswith("user ") and "default" not in line:
            world.client.execute_command("ACL", "SETUSER", *line.split()[1:])
    world.environment["CRAWL_REDIS_URL"] = f"redis://crawl:CHANGE-ME-CRAWL@127.0.0.1:{world.server.port}/0"
    world.worker("list", "list", "-E")
    own = f"redis://flower:CHANGE-ME-FLOWER@127.0.0.1:{world.server.port}/0"
    world.environment |= {"CRAWL_REDIS_URL": own, "FLOWER_UNAUTHENTICATED_API": "true"}
    port = free_port()
    world.start("flower", *CELERY, "flower", f"--port={port}")

    def told() -> bytes:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/workers?refresh=1", timeout=PATIENCE_S) as answer:
                return bytes(answer.read())
        except OSError:
            return b"{}"

    eventually(lambda: "fetch_list" in told().decode())
    workers = json.loads(told())
    assert [name.partition("@")[0] for name in workers] == ["list"]
    assert "CHANGE-ME" not in json.dumps(workers)
    denied = {row["object"] for row in world.client.acl_log() if row["username"] == "flower"}
    assert denied <= {"evalsha"}  # the sweep of old bindings, which workers do
    world.start("stop", *CELERY, "control", "-d", next(iter(workers)), "shutdown")  # ends with 69: nobody replies
    eventually(lambda: world.processes["list"].poll() is not None)
    for name in ("list", "stop"):
        world.processes.pop(name).wait(timeout=PATIENCE_S)


def test_no_election_has_a_worker_send_what_others_choose(world: World) -> None:
    world.worker("list", "list")
    task = {"task": "crawl_tasks.produce", "args": [], "kwargs": {}, "options": {"queue": "comment"}}
    send = f"app.control.election('1', 'task', {task!r}); app.control.ping(timeout=3)"

    world.run("elect", sys.executable, "-c", f"from crawl_tasks.celery import app; {send}")

    assert world.client.llen("comment") == 0
    assert "election" in world.log_of("list")
