"""Hostile published sites: a sound site with keys that ask for files, modules, secrets and addresses of a worker."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

SITE: dict[str, Any] = {
    "base": "http://forum.example",
    "robots": False,
    "gate": {"delay_s": 0.0, "deadline_s": 2.0, "max_attempts": 1},
    "boards": [{"id": "1"}],
    "list": {
        "address": "/b{board}",
        "record": {"css": "li"},
        "fields": {"post_id": {"css": "a"}, "reply_count": {"css": "i"}},
        "revision": ["reply_count"],
    },
    "post": {"address": "/{post}", "fields": {"title": {"css": "body"}, "body": {"css": "body"}}},
}


def hostile_sites(seed: int, count: int, *, directory: str, port: int) -> Iterator[tuple[str, str]]:
    """Yield names and published texts. `directory` holds the canary's file, `port` of loopback has a canary."""
    chance = random.Random(seed)
    function = ("canary_module:touch", "os:system", "subprocess:run", "builtins:eval", "crawl_tasks.cli.main:main",
                "this:x", "antigravity:x", "pickle:loads", "runpy:run_path")  # fmt: skip
    place = (f"file://{directory}", "file:///proc/self", "file:///etc", f"file:///tmp/..{directory}", "file:///",
             f"ftp://127.0.0.1:{port}/x", f"s3://127.0.0.1:{port}/x", "memory://x", "github://o:r@/x")  # fmt: skip
    secret = ("FORUM_CANARY", "FORUM_CANARY_FILE", "CRAWL_SESSION_KEY", "PATH", "FORUM_OTHER")
    private = (f"127.0.0.1:{port}", f"[::1]:{port}", f"localhost:{port}", f"0.0.0.0:{port}", "169.254.169.254:80")
    base = (f"http://127.0.0.1:{port}", f"http://localhost:{port}", f"http://[::1]:{port}", "http://169.254.169.254",
            "http://forum.example", f"http://0x7f000001:{port}", f"http://127.1:{port}",
            f"http://2130706433:{port}")  # fmt: skip
    for number in range(count):
        site = json.loads(json.dumps(SITE)) | {"name": f"evil{number}"}
        for _ in range(chance.randint(1, 3)):
            one = chance.choice(function)
            key, value = chance.choice((
                ("read_from", chance.choice((*place, one))),
                ("prepare_request", one), ("on_response", one), ("priority_of", one), ("start_request", one),
                ("hooks", {chance.choice(("page_failed", "site_idle", "site_finished", "request_filtered")): one}),
                ("items", [{"function": one}]),
                ("login", {"function": one, "success": {"css": "a"}}),
                ("login", {"bearer": chance.choice(secret), "success": {"css": "a"}}),
                ("login", {"form": "/", "secrets": {"p": chance.choice(secret)}, "success": {"css": "a"}}),
                ("login", {"cookie_file": chance.choice(secret), "success": {"css": "a"}}),
                ("secret_headers", {"X-A": chance.choice(secret)}),
                ("private_hosts", [chance.choice(private)]),
                ("hosts", [chance.choice(private)]),
                ("proxy", chance.choice((f"http://127.0.0.1:{port}", f"socks5://localhost:{port}", "direct", *secret))),
                ("base", chance.choice(base)),
                ("engine", chance.choice(("phpbb", "../../etc/passwd", 5))),
                ("encoding", chance.choice(("bz2", "zlib", "unicode_escape", "rot13"))),
                ("board_list", "eJwrSS0uAQAEXQHB" * chance.randint(1, 50)),
                ("timezone", f"../../../..{directory}/canary.html"),
                ("gate", {"deadline_s": 1e308}),
                (chance.choice(list(SITE)), chance.choice((None, 5, "x", [], {}, [[]], "\ud800", 1e308))),
            ))  # fmt: skip
            site[key] = value
        if chance.random() < 0.2:
            site["post"] = {"address": "/{post}", "parser": chance.choice(function)}
        if chance.random() < 0.3 and "private_hosts" in site:
            site["base"] = chance.choice(base[:3])
        yield site["name"], json.dumps(site)
