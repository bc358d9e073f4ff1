"""A worker that finds messages of a later version, and a site file that changes while it is crawled."""

from __future__ import annotations

import json

import redis

from tests.flow.world import CELERY, World
from tests.waiting import eventually


def message(client: redis.Redis, world: World, **kwargs: object) -> dict:
    """Have Celery publish a message to no worker yet, and take it."""
    code = f"from crawl_tasks.tasks import fetch_post; fetch_post.delay(**{kwargs!r})"
    world.run("sender", CELERY[0], "-c", code)
    raw: dict = json.loads(client.lpop("post"))
    return raw


def test_what_only_a_later_version_understands_is_kept_and_the_rest_is_done(world: World) -> None:
    world.forum()
    known = world.truth()["posts"][0]["post_id"]
    sound = message(world.client, world, site="demo", post_id=known, later_field={"a": 1})
    unknown_task = sound | {"headers": sound["headers"] | {"task": "crawl_tasks.fetch_later", "id": "a"}}
    other_type = sound | {"content-type": "application/x-python-serialize"}
    for number, one in enumerate((unknown_task, other_type, sound)):
        tagged = one | {"properties": one["properties"] | {"delivery_tag": f"tag{number}"}}
        world.client.lpush("post", json.dumps(tagged))

    world.worker("detail", "detail")
    eventually(lambda: world.fetched()[f"/post/{known}"])
    eventually(lambda: world.client.llen("crawl:refused") == 2)
    eventually(lambda: world.client.hlen("crawl:unacked") == 0)

    kept = [text.decode() for text in world.client.lrange("crawl:refused", 0, -1)]
    assert sorted("fetch_later" in text for text in kept) == [False, True]
    assert all(known in text or "body" in text for text in kept)


def test_a_site_that_is_published_again_and_again_in_a_crawl_loses_and_doubles_nothing(world: World) -> None:
    world.forum("--latency-ms", "25")
    world.start_worker("list", "list")
    world.start_worker("rest", "detail,store")
    world.frontier.produce()
    published = 0

    while not (world.count_requests().done > 300 and world.is_idle()):
        published += 1
        world.publish(window=2 + published % 9, deadline_s=5.0 + published % 3)
        done = world.count_requests().done
        eventually(lambda done=done: world.count_requests().done > done + 10 or world.is_idle())

    assert published > 5
    assert world.faults() == []
    assert max(world.fetched().values()) == 1
