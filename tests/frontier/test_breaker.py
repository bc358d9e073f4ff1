"""The breaker of a site's stage: pages that say nothing shut it, a probe that is read well opens it again."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import pytest
import redis

from crawl_tasks.errors import AccessDenied, PageError, ParseError, Truncated
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.kept_pages import MOST_BYTES, MOST_PAGES, KeptPage, pack, unpack
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.frontier.retry import RetryPolicy, judge
from crawl_tasks.model import Fetched, Lease, Request, Stage, State
from crawl_tasks.monitor.snapshot import take_snapshot
from tests.frontier.by_hand import NOTHING, TERMS, lease, post, posts, released
from tests.frontier.small_crawl import SmallCrawl
from tests.waiting import eventually

POLICY = RetryPolicy(3, 0.01, 0.01)
WALL = "<title>Just a moment...</title>"


def bad(frontier: Frontier, held: Lease, error: PageError | None = None) -> None:
    assert frontier.fail(held, judge(error or ParseError("title found nothing"), held.attempt, POLICY, 0.5))


def good(frontier: Frontier, held: Lease) -> None:
    assert frontier.commit(held, NOTHING) is not None


def is_shut(frontier: Frontier, stage: Stage = Stage.POST) -> bool:
    [site] = take_snapshot(frontier).sites
    return stage in site.open_breakers


def next_released(frontier: Frontier, client: redis.Redis) -> int:
    """Tick until a request of the post stage is released; it is the only one."""
    found: list[int] = []
    eventually(lambda: frontier.tick("me") and (found.extend(released(client)), found)[1])
    [rid] = found
    return rid


def readings(frontier: Frontier, client: redis.Redis, marks: str) -> None:
    """Work on a page for each mark: `x` cannot be read, `.` can, `-` does not come at all."""
    for mark in marks:
        held = lease(frontier, released(client)[0])
        if mark == ".":
            good(frontier, held)
        else:
            bad(frontier, held, None if mark == "x" else Truncated("cut short"))


@pytest.mark.parametrize(
    ("marks", "shuts"),
    [
        ("xxxxx", True),  # the first pages of a new site, too
        ("xxxx", False),
        ("xxxx.xxxx", False),
        ("...xxxxx", True),
        ("xx-x-xx", True),  # what does not come says nothing about the rules
        ("-----", False),
        ("xxx." * 4 + "xxx", True),  # 15 of the last 20
        ("xx." * 8, False),
    ],
)
def test_a_stage_is_shut_by_bad_pages_in_a_row_or_by_their_share(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], marks: str, shuts: bool
) -> None:
    publish(window=1, max_attempts=1)
    frontier.admit("demo", posts(40))

    readings(frontier, client, marks)

    assert is_shut(frontier) is shuts


@pytest.fixture
def shut(frontier: Frontier, client: redis.Redis, publish: Callable[..., None]) -> Callable[..., None]:
    """Shut the post stage; requests 1 to 5 are parked, more are ready."""

    def with_terms(count: int = 10, **terms: str | int) -> None:
        publish(window=1, **terms)
        frontier.admit("demo", posts(count))
        readings(frontier, client, "xxxxx")
        assert is_shut(frontier)

    return with_terms


def test_nothing_of_a_shut_stage_is_released_and_other_stages_go_on(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut()
    frontier.admit("demo", [Request("demo", Stage.LIST, "1", "http://127.0.0.1/list/1")])

    frontier.tick("me")

    assert (released(client, "post"), len(released(client, "list"))) == ([], 1)


def test_a_message_that_stood_on_the_queue_when_the_stage_was_shut_gets_no_lease(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=6)
    frontier.admit("demo", posts(6))
    *first, last = released(client)
    for rid in first:
        bad(frontier, lease(frontier, rid))

    refusal = frontier.lease("demo", last)

    assert refusal is NoLease.QUARANTINED
    assert Inspector(frontier).count_requests("demo").ready == 1


def test_one_probe_is_sent_when_it_is_time_and_a_good_page_opens_the_stage_and_revives_what_was_parked(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(probe_ms=1)

    probe = next_released(frontier, client)
    good(frontier, lease(frontier, probe))

    counts = Inspector(frontier).count_requests("demo")
    assert not is_shut(frontier)
    assert (counts.parked, counts.done, counts.open) == (0, 1, 9)
    assert released(client), "the window is used again"


def test_a_probe_whose_walk_was_cut_short_was_read_well_and_one_that_is_gone_says_nothing(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(probe_ms=1)

    gone = lease(frontier, next_released(frontier, client))
    frontier.commit(gone, NOTHING, "gone:post")
    still = is_shut(frontier)
    cut = lease(frontier, next_released(frontier, client))
    frontier.commit(cut, NOTHING, "cut:post")

    assert (still, is_shut(frontier)) == (True, False)


def test_a_probe_that_fails_is_parked_and_the_stage_stays_shut(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(probe_ms=1)

    probe = next_released(frontier, client)
    bad(frontier, lease(frontier, probe))

    assert is_shut(frontier)
    assert Inspector(frontier).count_requests("demo").parked == 6


def test_only_one_probe_is_under_way(frontier: Frontier, client: redis.Redis, shut: Callable[..., None]) -> None:
    shut(probe_ms=1)
    probe = next_released(frontier, client)
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"probe_ms": 900_000}, [])
    lease(frontier, probe)

    frontier.tick("me")

    assert released(client) == []


def test_the_probe_is_taken_from_what_was_parked_when_nothing_else_waits(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(count=5, probe_ms=1)

    probe = next_released(frontier, client)

    assert probe == 1
    assert Inspector(frontier).count_requests("demo").parked == 4


def test_a_suspect_that_was_dropped_by_hand_is_no_probe(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(count=5, probe_ms=1)
    assert Admin(frontier).failed.requests.drop(Selection("demo", State.PARKED, most=4)) == 4
    [left] = [int(rid) for rid in client.hkeys("test:s:demo:parked")]

    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")

    assert released(client) == [left]


def test_a_page_that_was_under_way_when_the_stage_was_shut_does_not_open_it(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=6)
    frontier.admit("demo", posts(6))
    *first, last = [lease(frontier, rid) for rid in released(client)]
    for held in first:
        bad(frontier, held)

    good(frontier, last)

    assert is_shut(frontier)


def test_a_new_version_of_the_site_file_sends_a_probe_at_once_and_the_same_version_does_not(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut()

    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    frontier.tick("me")
    again = released(client)
    frontier.sites.publish("demo", "v2", "{}", TERMS, [])
    frontier.tick("me")

    assert (again, len(released(client))) == ([], 1)


def test_an_opened_stage_is_shut_again_only_by_as_many_pages_as_the_first_time(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(probe_ms=1)
    probe = next_released(frontier, client)
    good(frontier, lease(frontier, probe))
    frontier.sites.publish("demo", "v1", "{}", TERMS | {"window": 1, "probe_ms": 900_000}, [])

    Admin(frontier).failed.requests.retry(Selection("demo", State.PARKED))
    rid = next_released(frontier, client)
    bad(frontier, lease(frontier, rid))

    assert not is_shut(frontier)


def test_a_stage_that_was_opened_by_hand_goes_on(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut()

    revived = frontier.kept_pages.reopen("demo", Stage.POST)

    assert (revived, is_shut(frontier)) == (5, False)
    assert len(released(client)) == 1


def test_the_snapshot_says_which_stage_is_shut_and_why(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1)
    frontier.admit("demo", posts(5))
    for _ in range(5):
        bad(frontier, lease(frontier, released(client)[0]), AccessDenied("403"))

    [site] = take_snapshot(frontier).sites

    assert site.open_breakers[Stage.POST].reason == "access_denied"
    assert site.open_breakers[Stage.POST].probe_at_ms > site.open_breakers[Stage.POST].since_ms


# -- kept pages --------------------------------------------------------------------------------------------------


def kept(rid: int, body: bytes = b"<p>what", why: str = "title found nothing") -> KeptPage:
    return KeptPage(rid, post(rid), Fetched(f"http://127.0.0.1/post/{rid}", 200, {"a": "b"}, body, 5.5), why)


def test_a_kept_page_comes_back_as_it_was() -> None:
    assert unpack("demo", pack(kept(7, b"\nbody\n\xff"))) == kept(7, b"\nbody\n\xff")


def test_a_screenshot_comes_back_with_its_page_and_makes_room_where_both_are_too_large(
    frontier: Frontier, publish: Callable[..., None]
) -> None:
    publish()
    small, large = (replace(kept(rid), screenshot=random.Random(1).randbytes(size)) for rid, size in
                    ((7, 1000), (8, MOST_BYTES)))  # fmt: skip

    assert frontier.kept_pages.keep(small)
    assert frontier.kept_pages.keep(large)

    assert frontier.kept_pages.kept("demo", Stage.POST) == [small, replace(large, screenshot=b"")]


def test_the_newest_pages_are_kept_each_once_and_none_that_is_too_large(frontier: Frontier) -> None:
    for rid in [*range(1, MOST_PAGES + 3), 5]:
        assert frontier.kept_pages.keep(kept(rid))
    noise = b"".join(number.to_bytes(8, "big") for number in range(0, 1 << 60, (1 << 60) // (MOST_BYTES // 2)))

    is_kept = frontier.kept_pages.keep(kept(99, noise))

    assert not is_kept
    assert sorted(one.rid for one in frontier.kept_pages.kept("demo", Stage.POST)) == list(range(3, MOST_PAGES + 3))


def test_a_page_that_cannot_be_read_is_parked_and_kept_and_nothing_is_stored(crawl: SmallCrawl) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "7 1")
    crawl.forum.pages["/post/7"] = "<h2>another layout</h2>"

    crawl.scan()

    [page] = crawl.frontier.kept_pages.kept("demo", Stage.POST)
    assert (page.request.key, page.page.body) == ("7", b"<h2>another layout</h2>")
    assert "title found nothing" in page.why
    assert [one.body for items in crawl.items() for one in items.posts] == [None]


def test_a_challenge_in_the_place_of_pages_is_named_and_shuts_the_stage_until_it_is_gone(
    crawl: SmallCrawl, client: redis.Redis
) -> None:
    crawl.publish("boards: [1]\nbreaker: {after: 2, probe_s: 1}\n")
    crawl.forum.board("1", 1, *(f"{number} 0" for number in range(1, 60)))
    for number in range(1, 60):
        crawl.forum.pages[f"/post/{number}"] = WALL
    crawl.scan()
    [site] = take_snapshot(crawl.frontier).sites
    for number in range(1, 60):
        crawl.forum.thread(str(number))

    eventually(
        lambda: (
            crawl.frontier.tick("me") and (crawl.work(), Inspector(crawl.frontier).count_requests("demo").done == 60)[1]
        )
    )

    assert site.open_breakers[Stage.POST].reason == "challenge"
    assert site.counts.parked < 59
    counts = Inspector(crawl.frontier).count_requests("demo")
    assert (counts.done, counts.parked, counts.dead) == (60, 0, 0)


def boards(frontier: Frontier, client: redis.Redis, publish: Callable[..., None], **terms: int) -> list[int]:
    """Let four list pages come that cannot be read: too few to open the breaker. Return their numbers."""
    publish(window=4, **terms)
    frontier.admit("demo", [Request("demo", Stage.LIST, str(n), f"http://127.0.0.1/list/{n}") for n in range(4)])
    rids = released(client, "list")
    for rid in rids:
        bad(frontier, lease(frontier, rid))
    assert Inspector(frontier).count_requests("demo").parked == 4
    assert not is_shut(frontier, Stage.LIST)
    return rids


def next_list(frontier: Frontier, client: redis.Redis) -> list[int]:
    """Tick until list pages are released, and once more."""
    found: list[int] = []
    eventually(lambda: frontier.tick("me") and (found.extend(released(client, "list")), found)[1])
    frontier.tick("me")
    return found + released(client, "list")


def hurry(client: redis.Redis, stage: str = "list") -> int:
    """Let the time of the next retry come. Return how far off it was, in ms."""
    at, rest = (client.hget("test:s:demo", f"retry:{stage}") or b"").split(b" ", 1)
    seconds, micros = client.time()
    client.hset("test:s:demo", f"retry:{stage}", b"0 " + rest)
    client.zadd("test:due", {"demo": 0})
    return int(at) - (seconds * 1000 + micros // 1000)


def test_pages_that_were_parked_below_a_closed_breaker_are_retried_one_by_one(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    rids = boards(frontier, client, publish, probe_ms=1)

    for rid in rids:
        assert next_list(frontier, client) == [rid]
        good(frontier, lease(frontier, rid))
        assert hurry(client) <= 10_000

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.parked, counts.done, counts.open) == (0, 4, 0)


def test_pages_of_a_paused_site_stay_parked_and_are_retried_when_it_goes_on(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    rids = boards(frontier, client, publish, probe_ms=1)
    frontier.sites.pause("demo")
    client.zadd("test:due", {"demo": 0})
    frontier.tick("me")
    assert Inspector(frontier).count_requests("demo").parked == 4

    frontier.sites.resume("demo")

    assert next_list(frontier, client) == rids[:1]


def test_nothing_is_retried_before_the_time_of_a_probe(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    boards(frontier, client, publish, probe_ms=900_000)
    client.zadd("test:due", {"demo": 0})

    frontier.tick("me")

    assert released(client, "list") == []
    assert 800_000 < float(client.zscore("test:due", "demo") or 0) - client.time()[0] * 1000 <= 901_000


def test_retries_that_fail_wait_longer_and_open_no_breaker(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    rids = boards(frontier, client, publish, probe_ms=1000)
    waits = []
    for rid in rids * 2:
        [parked] = [client.hget("test:s:demo:parked", str(rid)) or b""]
        client.hset("test:s:demo:parked", str(rid), b"1 " + parked.split(b" ", 1)[1])
        client.zadd("test:due", {"demo": 0})
        assert next_list(frontier, client) == [rid]
        bad(frontier, lease(frontier, rid))
        waits.append(round(hurry(client) / 1000))

    assert waits == [2, 4, 4, 4, 4, 4, 4, 4]
    assert not is_shut(frontier, Stage.LIST)


def test_a_page_that_could_not_be_read_among_many_that_could_is_retried(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1, probe_ms=1)
    frontier.admit("demo", posts(23))
    readings(frontier, client, "x" + "." * 22)

    rid = next_released(frontier, client)
    good(frontier, lease(frontier, rid))

    counts = Inspector(frontier).count_requests("demo")
    assert (counts.parked, counts.done) == (0, 23)


def test_a_page_that_no_worker_could_parse_is_not_retried(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    [rid, *others] = boards(frontier, client, publish, probe_ms=1)
    client.hset(
        "test:s:demo:parked",
        str(rid),
        (client.hget("test:s:demo:parked", str(rid)) or b"").replace(b" parse ", b" hung "),
    )

    assert next_list(frontier, client) == [others[0]]
    assert client.hexists("test:s:demo:parked", str(rid))


def test_a_breaker_that_opens_where_good_and_bad_pages_alternate_sends_probes_soon_and_ever_more_rarely(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(window=1, max_attempts=1, probe_ms=900_000)
    frontier.admit("demo", posts(40))
    readings(frontier, client, "x.xxxxxxxxx")
    assert not is_shut(frontier)
    bad(frontier, lease(frontier, next_released(frontier, client)))

    waits = []
    for open_for_s in (1, 10, 60, 10_000):
        _, at, rest = (client.hget("test:s:demo", "breaker:post") or b"").decode().split(" ", 2)
        waits.append((int(at) - frontier.clock_ms()) / 1000)
        client.hset("test:s:demo", "breaker:post", f"{frontier.clock_ms() - open_for_s * 1000} 0 {rest}")
        bad(frontier, lease(frontier, next_released(frontier, client)))

    assert max(waits[:2]) <= 3 < 9 <= waits[2] < 50 < 59 <= waits[3] < 800
    assert is_shut(frontier)


def test_pages_that_opened_a_breaker_stand_behind_those_that_never_had_their_turn_when_it_closes(
    frontier: Frontier, client: redis.Redis, shut: Callable[..., None]
) -> None:
    shut(probe_ms=1)
    good(frontier, lease(frontier, next_released(frontier, client)))

    order = []
    for _ in range(9):
        rid = next_released(frontier, client)
        order.append(rid)
        good(frontier, lease(frontier, rid))

    assert sorted(order[:4]) == [7, 8, 9, 10]
    assert sorted(order[4:]) == [1, 2, 3, 4, 5]
