"""Messages of others that are JSON, but not what Celery takes a message for."""

from __future__ import annotations

import base64
import json

from tests.flow.test_versions import message
from tests.flow.world import World
from tests.waiting import PATIENCE_S, eventually

NO_MESSAGE = (
    "5",
    "null",
    '"text"',
    "[]",
    "{}",
    "[1, 2]",
    "[[], {}, 5]",
    "[5, {}, {}]",
    "[[], [], {}]",
    "[[], {}, null]",
    '[[], {}, {"callbacks": 5}]',
    '[[], {}, {"errbacks": ["a"]}]',
    '[[], {}, {"chain": [5]}]',
    '[[], {}, {"chain": [{}]}]',
    "not JSON",
)
FAILS_BY_ITSELF = ("[[1, 2, 3, 4], {}, {}]", '[[], {"site": 5}, {}]', '[[], {"post_id": "1"}, {}]', "[[], {}, {}]")

ODD_HEADERS: tuple[dict[str, object], ...] = (
    {"eta": 5},
    {"eta": "tomorrow"},
    {"expires": []},
    {"expires": "x"},
    {"timelimit": 7},
    {"timelimit": ["soon", None]},
    {"stamped_headers": 5},
    {"stamped_headers": [[]]},
    {"stamped_headers": ["a"], "stamps": 5},
    {"retries": "x"},
    {"argsrepr": 5},
    {"lang": None},
    {"group": 3, "root_id": []},
    {"headers": 5},
    {"shadow": {"a": 1}},
)


def test_a_message_of_any_shape_harms_neither_the_worker_nor_the_messages_behind_it(world: World) -> None:
    world.forum()
    known = world.truth()["posts"][0]["post_id"]
    sound = message(world.client, world, site="demo", post_id=known)
    texts = [*NO_MESSAGE, *FAILS_BY_ITSELF]
    for number, text in enumerate(texts):
        coded = base64.b64encode(text.encode()).decode()
        for name, headers, body, encoding in (
            ("others", {}, coded, "base64"),
            ("hint", {"crawl_at": 0}, text, "utf-8"),
        ):
            properties = {"delivery_tag": f"{name}{number}", "body_encoding": encoding}
            odd = {"headers": sound["headers"] | headers | {"id": f"{name}{number}"}, "body": body}
            odd["properties"] = sound["properties"] | properties
            world.client.lpush("post", json.dumps(sound | odd))
    for number, headers in enumerate(ODD_HEADERS):
        odd = {"headers": sound["headers"] | headers | {"id": f"headers{number}"}}
        odd["properties"] = sound["properties"] | {"delivery_tag": f"headers{number}"}
        world.client.lpush("post", json.dumps(sound | odd))
    world.client.lpush("post", json.dumps(sound))

    worker = world.worker("all", "detail,store")
    eventually(lambda: world.fetched()[f"/post/{known}"])
    eventually(lambda: world.is_idle() and world.client.hlen("crawl:unacked") == 0)

    kept = b"\n".join(world.client.lrange("crawl:refused", 0, -1)).decode()
    assert [text for text in NO_MESSAGE if base64.b64encode(text.encode()).decode() not in kept] == []
    assert worker.poll() is None
    assert world.count_requests().imbalance() == ""


def test_a_worker_whose_certificates_are_nowhere_says_so_and_does_not_start(world: World) -> None:
    world.environment["CRAWL_CA_FILE"] = "/nowhere.pem"

    process = world.start_worker("refused", "detail")

    assert process.wait(timeout=PATIENCE_S) == 2
    assert "crawl_tasks: CRAWL_CA_FILE: there is no file /nowhere.pem" in world.log_of("refused")
    del world.processes["refused"]
