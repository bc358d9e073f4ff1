"""A worker with canaries, and the verdict on it: what it touched, whether it lives, rests, and serves a sound page."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import threading
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field

import psutil

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Request, Stage, State
from crawl_tasks.queues import QUEUES
from tests.flow.world import CELERY, World
from tests.frontier.by_hand import TERMS
from tests.hostile.sites import SITE
from tests.waiting import eventually

SECRET = "canary-secret-0123456789"
AT_REST = 0.5
"""CPU seconds in a quiet stretch of two heartbeats, below which a worker does not spin."""


@dataclass
class Canary:
    """A port of loopback that hears who comes."""

    heard: list[bytes] = field(default_factory=list)
    server: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0), backlog=100))

    def __post_init__(self) -> None:
        self.port = int(self.server.getsockname()[1])
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self.server.accept()
            except OSError:  # closed
                return
            with visitor:
                self.heard.append(b"somebody")


class Trial:
    """A world with one worker for all queues that is granted nothing but the demo forum."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.canary = Canary()
        self.directory = world.directory / "canary"
        self.directory.mkdir()
        (self.directory / "canary.html").write_text(SECRET)
        (self.directory / "canary_module.py").write_text(
            f"open({str(self.directory / 'imported')!r}, 'w').close()\ndef touch(site): pass\n"
        )
        self.trace = world.directory / "trace"
        site = world.forum("--latency-ms", "2")
        world.environment |= {
            "CRAWL_SITES_DIR": str(world.directory / "none"),
            "CRAWL_PRIVATE_HOSTS": site.base.partition("://")[2],
            "CRAWL_FUNCTION_MODULES": "",
            "CRAWL_SESSION_KEY": SECRET * 2,
            "FORUM_CANARY": SECRET,
            "FORUM_CANARY_FILE": str(self.directory / "canary.html"),
            "PYTHONPATH": os.pathsep.join((world.environment["PYTHONPATH"], str(self.directory))),
        }

    def start(self) -> None:
        """Start the worker, below strace where the machine has it."""
        strace = shutil.which("strace")
        told = ["-f", "-q", "-e", "trace=openat,open,connect", "-o", str(self.trace)]
        command = [*CELERY, "worker", "-Q", ",".join(QUEUES[:3]) + ",store,control", "-n", "all@%h", "-c", "4"]
        self.world.start("all", *([strace, *told] if strace else []), *command, "-l", "info")
        self.world.wait_for_worker("all")

    def push(self, messages: Iterable[bytes]) -> int:
        """Put messages on the queues in turn, and wake the worker."""
        count = 0
        for count, message in enumerate(messages, 1):
            queue = ("list", "post", "comment")[count % 3]
            self.world.client.lpush(queue, message)
            self.world.client.lpush(f"crawl:bell:{queue}", 1)
            self.world.client.lpush(f"crawl:wake:{queue}", 1)
        return count

    def publish(self, sites: Iterable[tuple[str, str]]) -> list[str]:
        """Publish sites straight into Redis, each with start entries and a request; return their names."""
        names = []
        for name, text in sites:
            self.world.frontier.sites.publish(name, "v1", text, TERMS | {"lease_ms": 20_000, "max_attempts": 1}, [])
            self.world.client.rpush(f"crawl:start:{name}", json.dumps({"post": "environ"}), '{"post": "canary.html"}')
            self.world.frontier.admit(name, [Request(name, Stage.POST, "1", f"{SITE['base']}/canary.html")])
            names.append(name)
        return names

    def is_served(self, number: int) -> bool:
        """Return whether a post of the sound forum is fetched that nobody asked for yet."""
        post = self.world.truth()["posts"][number]["post_id"]
        self.world.client.rpush("crawl:start:demo", json.dumps({"post": post, "revision": f"r{number}"}))
        before = self.world.fetched()[f"/post/{post}"]
        eventually(lambda: self.world.fetched()[f"/post/{post}"] > before or self.world.ended("all"))
        return True

    def is_drained(self) -> bool:
        """Return whether no message waits or is in hand."""
        waiting = sum(self.world.client.llen(queue) for queue in QUEUES) + self.world.client.hlen("crawl:unacked")
        return waiting == 0 and not self.world.ended("all")

    def is_settled(self, names: Iterable[str]) -> bool:
        """Return whether every request of some sites has failed, and none of their start entries waits."""
        counts = (Inspector(self.world.frontier).count_requests(name) for name in names)
        return all(count.open == 0 for count in counts) and not any(
            self.world.client.exists(f"crawl:start:{name}") for name in names
        )

    def reasons(self, names: Iterable[str]) -> dict[str, str]:
        """Return why the request of each site failed."""
        requests = Admin(self.world.frontier).failed.requests
        found = {}
        for name in names:
            for state in (State.PARKED, State.DEAD):
                for failed in requests.list(Selection(name, state)):
                    found[name] = failed.details
        return found

    def spins(self) -> bool:
        """Return whether the worker works in each of three stretches, though there is nothing to do.

        In one, it may still import what stores the last page.
        """
        workers = [psutil.Process(self.world.processes["all"].pid)]
        workers += workers[0].children(recursive=True)
        stretch = threading.Event()
        for _ in range(3):
            before = sum(sum(process.cpu_times()[:2]) for process in workers)
            stretch.wait(4)
            if sum(sum(process.cpu_times()[:2]) for process in workers) - before <= 4 * AT_REST:
                return False
        return True

    def touched(self) -> list[str]:
        """Return which canary was touched: the module, the port, a file, a secret in Redis."""
        found = ["module"] * (self.directory / "imported").exists() + ["port"] * bool(self.canary.heard)
        if self.trace.exists():
            trace = self.trace.read_text("utf-8", "replace")
            found += [f"file {self.directory}"] * (f'{self.directory}/canary.html"' in trace)
            found += re.findall(r'open(?:at)?\([^"]*"(?:/etc/passwd|/proc/self/environ|/proc/\d+/environ)"', trace)
            found += re.findall(rf"htons\({self.canary.port}\)", trace)
        return found + [f"secret in {key}" for key in self._keys_with_secrets()]

    def _keys_with_secrets(self) -> list[str]:
        client = self.world.client
        found = []
        for key in client.scan_iter("*", count=1000):
            values = _values(client, key)
            if any(SECRET.encode() in text for value in values for text in (value, _unpacked(value))):
                found.append(key.decode())
        return found

    def close(self) -> None:
        self.canary.server.close()


def _values(client: object, key: bytes) -> list[bytes]:
    kind = client.type(key).decode()  # type: ignore[attr-defined]
    read = {
        "string": lambda: [client.get(key)],  # type: ignore[attr-defined]
        "hash": lambda: [part for pair in client.hgetall(key).items() for part in pair],  # type: ignore[attr-defined]
        "list": lambda: client.lrange(key, 0, -1),  # type: ignore[attr-defined]
        "stream": lambda: [value for _, fields in client.xrange(key) for value in fields.values()],  # type: ignore[attr-defined]
    }
    return read.get(kind, list)() if kind in read else []


def _unpacked(value: bytes) -> bytes:
    try:
        return zlib.decompress(value)
    except zlib.error:
        return b""
