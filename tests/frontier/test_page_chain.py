"""The next page of a chain: taken with the commit of the page before, from the queues of the worker alone."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import redis
from kombu.utils.json import dumps, loads
from redis.exceptions import ConnectionError as RedisConnectionError

from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.replies import NextPage
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.frontier.scripts import Command, Scripts, Verb
from crawl_tasks.model import Lease, Parsed, Request, Stage, State
from tests.frontier.by_hand import NOTHING, TERMS, lease, posts, released

DETAIL = ("post", "comment")


def first_of(frontier: Frontier, client: redis.Redis, queue: str = "post") -> Lease:
    """Lease the page of the oldest message, and leave the others on their queue."""
    message = client.rpop(queue)
    assert message is not None
    return lease(frontier, json.loads(json.loads(message)["body"])[1]["rid"])


def next_of(
    frontier: Frontier, held: Lease, queues: tuple[str, ...] = DETAIL, parsed: Parsed = NOTHING
) -> NextPage | None:
    result = frontier.commit(held, parsed, queues=queues)
    assert result is not None
    return result.next


def is_balanced(frontier: Frontier) -> bool:
    return not Inspector(frontier).count_requests("demo").imbalance()


def test_a_commit_takes_the_oldest_message_and_leases_its_page(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(6))
    held, keys = first_of(frontier, client), []

    while following := next_of(frontier, held):
        held = following.lease
        said = json.loads(json.loads(following.message)["body"])[1]
        assert said == {"site": "demo", "rid": held.rid}
        keys.append(held.request.key)

    assert keys == ["2", "3", "4", "5", "6"]
    assert Inspector(frontier).count_requests("demo").done == 6
    assert is_balanced(frontier)


def test_a_chained_lease_is_as_one_that_was_asked_for(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(3))
    first = first_of(frontier, client)
    asked = first_of(frontier, client)

    following = next_of(frontier, first)

    assert following is not None
    chained = following.lease
    assert int(chained.token) > int(asked.token)
    same = {"rid", "token", "request", "deadline_ms", "at_ms"}
    fields = set(Lease._fields) - same
    assert {name: getattr(chained, name) for name in fields} == {name: getattr(asked, name) for name in fields}
    assert 0 < chained.deadline_ms - chained.at_ms <= TERMS["lease_ms"]


def test_a_worker_gets_no_page_of_a_queue_that_it_does_not_serve(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", [*posts(2), Request("demo", Stage.COMMENT, "1", "http://127.0.0.1/comment/1/2", page=2)])
    held = first_of(frontier, client)

    assert next_of(frontier, held, ("list", "comment")) is not None
    assert client.llen("post") == 1


def test_a_message_of_another_program_stays_on_its_queue(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(1))
    held = first_of(frontier, client)
    client.rpush("post", '{"body":"another"}')

    assert next_of(frontier, held) is None
    assert client.lrange("post", 0, -1) == [b'{"body":"another"}']


def test_the_next_page_may_be_of_another_site(frontier: Frontier, client: redis.Redis) -> None:
    frontier.sites.publish("other", "v2", "{}", TERMS, [])
    frontier.admit("demo", posts(1))
    held = first_of(frontier, client)
    frontier.admit("other", [post._replace(site="other") for post in posts(1)])

    following = next_of(frontier, held)

    assert following is not None
    assert (following.lease.request.site, following.lease.site_version) == ("other", "v2")


def test_a_page_of_a_paused_site_goes_back_and_the_chain_goes_on_with_another(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.sites.publish("other", "v2", "{}", TERMS, [])
    frontier.admit("demo", posts(1))
    held = first_of(frontier, client)
    frontier.admit("other", [post._replace(site="other") for post in posts(1)])
    frontier.admit("demo", posts(1, 2))
    frontier.sites.pause("other")

    following = next_of(frontier, held)

    assert following is not None
    assert following.lease.request.site == "demo"
    assert Inspector(frontier).count_requests("other").imbalance() == ""


def test_a_chain_keeps_window_and_delay(frontier: Frontier, client: redis.Redis, publish: Callable[..., None]) -> None:
    publish(delay_ms=60_000)
    frontier.admit("demo", posts(3))
    held = first_of(frontier, client)

    assert next_of(frontier, held) is None
    assert released(client) == []
    assert is_balanced(frontier)


def test_without_queues_a_commit_takes_nothing(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    held = first_of(frontier, client)

    assert next_of(frontier, held, ()) is None
    assert client.llen("post") == 1


def test_a_commit_without_a_lease_takes_nothing(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    held = first_of(frontier, client)

    assert frontier.commit(held._replace(token=held.token + 1), NOTHING, queues=DETAIL) is None
    assert client.llen("post") == 1


def test_a_message_that_a_worker_put_back_at_its_end_is_taken_too(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(2))
    held = first_of(frontier, client)
    client.rpush("post", dumps(loads(client.rpop("post"))))

    following = next_of(frontier, held)

    assert following is not None
    assert following.lease.request.key == "2"


def test_a_commit_whose_answer_was_lost_gives_the_same_next_page_again(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1)
    frontier.admit("demo", posts(3))
    held = first_of(frontier, client)

    first = frontier.commit(held, NOTHING, queues=DETAIL)
    again = frontier.commit(held, NOTHING, queues=DETAIL)

    assert first is not None
    assert first.next is not None
    assert again is not None
    assert again.next is not None
    # Two answers of the same lease, each with the time of its own call.
    assert again.next.lease._replace(at_ms=0) == first.next.lease._replace(at_ms=0)
    assert again._replace(next=None) == first._replace(next=None)
    assert Inspector(frontier).count_requests("demo").done == 1
    assert is_balanced(frontier)


def test_the_end_of_a_lease_says_the_same_when_it_is_sent_again_and_nothing_to_another_end(
    frontier: Frontier, client: redis.Redis
) -> None:
    frontier.admit("demo", posts(3))
    done, failed = first_of(frontier, client), first_of(frontier, client)
    verdict = Verdict(State.DEAD, "parse", "why")

    committed, buried = frontier.commit(done, NOTHING), frontier.fail(failed, verdict)

    assert frontier.fail(failed, verdict) == buried
    assert frontier.commit(failed, NOTHING) is None
    assert frontier.commit(done, NOTHING) is None  # another call came between
    assert committed is not None
    assert is_balanced(frontier)


@pytest.mark.parametrize("verb", [Verb.LEASE, Verb.ADMIT])
def test_a_call_whose_answer_was_lost_is_answered_as_it_was(
    verb: Verb, frontier: Frontier, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier.admit("demo", posts(1))
    [rid] = released(client)
    asked, ask = list[object](), Scripts._ask

    def cut(self: Scripts, of: Verb, args: Command) -> object:
        reply = ask(self, of, args)
        asked.append(reply)
        if len(asked) == 1:
            raise RedisConnectionError("cut")
        return reply

    monkeypatch.setattr(Scripts, "_ask", cut)

    if verb is Verb.LEASE:
        assert lease(frontier, rid).rid == rid
    else:
        assert frontier.admit("demo", posts(1), again=True).new == 1

    before, again = asked
    assert isinstance(before, list)
    assert isinstance(again, list)
    assert before[:9] == again[:9]  # then its own time
    counts = Inspector(frontier).count_requests("demo")
    assert (counts.admitted, counts.leased) == ((1, 1) if verb is Verb.LEASE else (2, 0))


def test_answers_are_kept_for_minutes_and_one_for_each_caller(frontier: Frontier, client: redis.Redis) -> None:
    frontier.admit("demo", posts(50))
    held = first_of(frontier, client)
    while following := next_of(frontier, held):
        held = following.lease

    keys = client.keys("test:answers:*")
    assert len(keys) <= 2
    assert all(client.hlen(key) == 1 and 0 < client.pttl(key) <= 120_000 for key in keys)
