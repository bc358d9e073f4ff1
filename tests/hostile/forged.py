"""Forged messages: a sound message with some of its parts replaced by odd ones, drawn at random from a seed."""

from __future__ import annotations

import base64
import bz2
import gzip
import json
import random
import zlib
from collections.abc import Iterator
from typing import Any

from crawl_tasks.queues import ROUTES

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1 << 70, 1e308, "", "x", "a\x06\x16b", "../../etc/passwd", "crawl:sites", "\ud800", "x" * 5000,
    [], [[]], {}, {"a": 1}, "9999-12-31T23:59:59", "file:///etc/passwd", "\x1b[2J", "=1+1", ["a"] * 50,
)  # fmt: skip
OTHERS = (
    "celery.chord_unlock", "celery.accumulate", "celery.backend_cleanup", "celery.chain", "celery.group", "celery.map",
    "celery.starmap", "celery.chunks", "celery.chord", "os.system", "crawl_tasks.nothing", "__import__",
    "builtins.eval", "canary_module.touch", "subprocess.run", "",
)  # fmt: skip
HEADERS = (
    "lang", "id", "root_id", "parent_id", "group", "argsrepr", "kwargsrepr", "origin", "eta", "expires", "timelimit",
    "retries", "ignore_result", "replaced_task_nesting", "stamps", "stamped_headers", "shadow", "headers", "crawl_at",
    "compression", "reply_to", "hostname", "delivery_info", "__class__", "ticket", "method",
)  # fmt: skip
NAMED = ("site", "rid", "post_id", "url", "page", "board", "priority", "revision", "meta", "read_from", "__class__")
BOMB = b"0" * 3_000_000


def forged_messages(seed: int, count: int) -> Iterator[bytes]:
    """Yield forged messages, each with its number in its tag."""
    chance = random.Random(seed)
    for number in range(count):
        kind = chance.choice((_odd_parts, _odd_parts, _of_celery, _compressed, _odd_links, _odd_task, _no_message))
        yield kind(chance, number)


def _message(
    number: int, task: str, args: object = (), kwargs: object = None, links: dict[str, object] | None = None
) -> dict[str, Any]:
    calls = {"callbacks": None, "errbacks": None, "chain": None, "chord": None} | (links or {})
    body = json.dumps([args, kwargs or {}, calls])
    name = f"forged{number}"
    return {
        "body": base64.b64encode(body.encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": task, "id": name, "root_id": name, "parent_id": None, "group": None},
        "properties": {
            "correlation_id": name, "reply_to": name, "delivery_mode": 2, "priority": 0, "body_encoding": "base64",
            "delivery_tag": name, "delivery_info": {"exchange": "", "routing_key": "post"},
        },
    }  # fmt: skip


def _ours(chance: random.Random) -> str:
    return chance.choice(list(ROUTES))


def _written(message: object) -> bytes:
    return json.dumps(message).encode()


def _odd_parts(chance: random.Random, number: int) -> bytes:
    kwargs = {name: chance.choice(ODD) for name in chance.sample(NAMED, chance.randint(0, 4))}
    message = _message(number, _ours(chance), [chance.choice(ODD)] * chance.randint(0, 2), kwargs)
    for name in chance.sample(HEADERS, chance.randint(0, 3)):
        message["headers"][name] = chance.choice(ODD)
    if chance.random() < 0.3:
        place = chance.choice(list(message["properties"]))
        message["properties"][place] = chance.choice(ODD)
    if chance.random() < 0.2:
        message[chance.choice(list(message))] = chance.choice(ODD)
    return _written(message)


def _of_celery(chance: random.Random, number: int) -> bytes:
    task = {
        "task": _ours(chance),
        "args": [],
        "kwargs": {},
        "options": {"queue": chance.choice(("post", "crawl:sites"))},
    }
    named = {"interval": 0, "max_retries": None, "result": [[["a", None], None]]}
    args: list[Any] = ["g", task] if chance.random() < 0.5 else [task, [[]] * 3, 1]
    message = _message(number, chance.choice(OTHERS), args, named)
    if chance.random() < 0.5:
        message["headers"]["crawl_at"] = 0
    return _written(message)


def _compressed(chance: random.Random, number: int) -> bytes:
    pack, name = chance.choice(
        (
            (bz2.compress, "application/x-bz2"),
            (gzip.compress, "application/x-gzip"),
            (zlib.compress, "application/zlib"),
        )
    )
    message = _message(number, _ours(chance))
    message["body"] = base64.b64encode(pack(BOMB)).decode()
    message["headers"] = {"compression": name} | (message["headers"] if chance.random() < 0.5 else {})
    if chance.random() < 0.3:
        message["headers"]["crawl_at"] = 0
    return _written(message)


def _odd_links(chance: random.Random, number: int) -> bytes:
    call = {"task": chance.choice((*OTHERS, *ROUTES)), "args": [], "kwargs": {}, "options": {}}
    call |= {"subtask_type": chance.choice(("chord", "group", "chain", "map", "xmap", None, 5))}
    link = chance.choice(("callbacks", "errbacks", "chain", "chord"))
    value = chance.choice((call, [call], [call] * 20, [[call]], chance.choice(ODD)))
    message = _message(number, _ours(chance), links={link: value})
    if chance.random() < 0.3:
        message |= {"body": base64.b64decode(message["body"]).decode()}
        message["properties"]["body_encoding"] = "utf-8"
        message["headers"]["crawl_at"] = 0
    return _written(message)


def _odd_task(chance: random.Random, number: int) -> bytes:
    return _written(_message(number, chance.choice(OTHERS), kwargs={"site": "demo"}))


def _no_message(chance: random.Random, number: int) -> bytes:
    whole = _written(_message(number, _ours(chance), kwargs={"site": "evil", "post_id": "1"}))
    cut = chance.randrange(len(whole))
    return chance.choice(
        (
            whole[:cut],
            whole[cut:],
            chance.randbytes(60),
            b"[" * 3000 + b"]" * 3000,
            b"null",
            b"5",
            b'{"body":' + whole,
            b"",
        )
    )
