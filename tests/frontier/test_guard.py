"""The dedup guard: exact at any size, small in memory, forgetting only where it is told to."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.entry import guard_address
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Request, Stage
from tests.frontier.by_hand import post, posts

MANY = 30_000
BUCKET = 96
SHARED = (236_181, 538_011)
"""Two posts whose addresses share their first 40 bits, one pair of few among a million."""


def test_the_guard_stays_exact_while_its_buckets_split(frontier: Frontier, client: redis.Redis) -> None:
    for start in range(1, MANY, 1000):
        assert frontier.admit("demo", posts(1000, start)).new == 1000
    for start in range(1, MANY, 1000):
        assert frontier.admit("demo", posts(1000, start)).known == 1000

    keys = list(client.scan_iter("test:s:demo:seen:*", count=1000))
    held = [member[:-7] for key in keys for member in client.smembers(key)]
    fields = client.hgetall("test:s:demo:seen")

    assert len(set(held)) == len(held) == MANY == int(fields[b"post:n"])
    assert len(keys) == int(fields[b"post:m"]) == -(-MANY // BUCKET)


def test_the_guard_is_a_redis_set_of_packed_integers(frontier: Frontier, client: redis.Redis) -> None:
    for start in range(1, MANY, 1000):
        frontier.admit("demo", posts(1000, start))
    keys = list(client.scan_iter("test:s:demo:seen:*", count=1000))

    assert {client.type(key) for key in keys} == {b"set"}
    assert {client.object("encoding", key) for key in keys} == {b"intset"}
    assert sum(client.scard(key) for key in keys) == MANY
    assert set(Admin(frontier).audit.guard_entries("demo", Stage.POST)) == {
        guard_address("post", str(number), 1) for number in range(1, MANY + 1)
    }


def test_two_posts_that_share_a_number_are_both_asked_for_and_known(frontier: Frontier) -> None:
    first, second = map(post, SHARED)
    assert guard_address("post", first.key, 1) == guard_address("post", second.key, 1)

    new = [frontier.admit("demo", [one]).new for one in (first, second, first, second)]

    assert new == [1, 1, 0, 0]


def test_of_two_posts_that_share_a_number_none_hides_the_news_of_the_other(frontier: Frontier) -> None:
    first, second = SHARED
    told = [post(first, "1"), post(second, "7"), post(second, "8"), post(first, "2"), post(second), post(first, "3")]

    assert [frontier.admit("demo", [one]).new for one in told] == [1, 1, 1, 1, 0, 1]


def test_an_address_and_its_revision_take_less_than_ten_bytes(frontier: Frontier, client: redis.Redis) -> None:
    for start in range(1, MANY, 1000):
        frontier.admit("demo", posts(1000, start))
    keys = list(client.scan_iter("test:s:demo:seen:*", count=1000))

    memory = sum(client.memory_usage(key, samples=0) for key in keys)

    assert memory / MANY < 10


def test_a_rolling_guard_forgets_after_two_windows_and_seeing_again_prolongs_nothing(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="rolling rolling rolling", rolling_ms=60_000)
    frontier.admit("demo", [post(1)])
    [(window_key, expires)] = [(key, client.pttl(key)) for key in client.scan_iter("test:s:demo:seen:*")]
    frontier.admit("demo", [post(1)])

    assert 0 < expires <= 120_000
    assert client.pttl(window_key) <= expires

    client.delete(window_key)
    assert frontier.admit("demo", [post(1)]).new == 1


def test_a_rolling_guard_keeps_no_note_of_windows_that_are_over_or_of_another_length(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    for minutes in (3, 2, 1):
        publish(guard="rolling rolling rolling", rolling_ms=60_000 * minutes)
        frontier.admit("demo", [post(minutes)])

        assert list(Admin(frontier).audit.guard("demo")) == []

    assert client.hlen("test:s:demo:seen") == 2


def test_a_bloom_guard_knows_what_it_saw_and_takes_few_strangers_for_acquaintances(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="bloom bloom bloom", guard_capacity=10_000)

    new = sum(frontier.admit("demo", posts(1000, start)).new for start in range(1, MANY, 1000))
    known = sum(frontier.admit("demo", posts(1000, start)).known for start in range(1, MANY, 1000))
    sizes = [client.strlen(key) for key in client.scan_iter("test:s:demo:seen:*")]

    assert new >= MANY - 9  # 1 in 100,000 at a full filter is expected of three
    assert known == MANY
    assert len(sizes) == 3
    assert max(sizes) == 10_000 * 24 // 8


def test_a_bloom_guard_forgets_nothing_when_the_next_filter_begins(
    frontier: Frontier, publish: Callable[..., None]
) -> None:
    publish(guard="bloom bloom bloom", guard_capacity=1000)
    for start in range(1, 2500, 500):
        frontier.admit("demo", posts(500, start))

    again = frontier.admit("demo", posts(500, 1))

    assert (again.new, again.known) == (0, 500)


def test_without_a_guard_everything_is_new(frontier: Frontier, publish: Callable[..., None]) -> None:
    publish(guard="off off off")

    assert [frontier.admit("demo", [post(1)]).new for _ in range(3)] == [1, 1, 1]


def test_stages_and_pages_do_not_mix(frontier: Frontier) -> None:
    requests = [
        Request("demo", stage, "1", f"http://127.0.0.1/{stage}/{page}", page=page)
        for stage in Stage
        for page in (1, 2, 11)
    ]

    assert frontier.admit("demo", requests).new == 9
    assert frontier.admit("demo", requests).known == 9


def listed(revision: str, board: str = "", *, is_hidden: bool = False) -> Request:
    """Write what a board's list says of post 7."""
    return post(7, revision)._replace(source=board, is_hidden=is_hidden)


@pytest.mark.parametrize("guard", ["exact exact exact", "rolling rolling rolling"])
def test_a_count_that_returns_to_an_earlier_value_is_a_change(
    frontier: Frontier, publish: Callable[..., None], guard: str
) -> None:
    publish(guard=guard)

    new = [frontier.admit("demo", [listed(count, "1")]).new for count in ("25", "25", "24", "25", "25", "")]

    assert new == [1, 0, 1, 1, 0, 0]


def test_a_rolling_guard_remembers_the_last_revision_over_the_end_of_a_window(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="rolling rolling rolling", rolling_ms=3_600_000)
    frontier.admit("demo", [listed("25")])
    window = int(client.time()[0] // 3600)
    for key in client.keys("test:s:demo:seen:post@*"):
        client.rename(key, key.replace(f"@{window}".encode(), f"@{window - 1}".encode()))
    for field in ("n", "m"):
        client.hset("test:s:demo:seen", f"post@{window - 1}:{field}", 1)
        client.hdel("test:s:demo:seen", f"post@{window}:{field}")

    new = [frontier.admit("demo", [listed(count)]).new for count in ("25", "24", "25")]

    assert new == [0, 1, 1]


def test_a_board_that_keeps_showing_an_old_count_costs_one_fetch_a_change(frontier: Frontier) -> None:
    told = [("25", "home"), ("20", "stub"), *[("25", "home"), ("20", "stub")] * 5, ("26", "home"), ("20", "stub")]

    new = [frontier.admit("demo", [listed(*one)]).new for one in told]

    assert new == [1, 1, 1, *[0] * 9, 1, 0]


def test_a_change_that_two_boards_show_is_fetched_once(frontier: Frontier) -> None:
    told = [("25", "a"), ("25", "b"), ("26", "a"), ("26", "b"), ("27", "b"), ("27", "a"), ("26", "a"), ("26", "b")]

    assert [frontier.admit("demo", [listed(*one)]).new for one in told] == [1, 0, 1, 0, 1, 0, 1, 0]


def test_a_post_that_its_list_calls_deleted_is_asked_for_when_the_list_does_so_no_more(frontier: Frontier) -> None:
    hidden = listed("25", "1", is_hidden=True)

    new = [frontier.admit("demo", [one]).new for one in (listed("25", "1"), hidden, hidden, listed("25", "1"))]

    assert new == [1, 0, 0, 1]


def test_a_new_post_that_its_list_calls_deleted_is_asked_for_once(frontier: Frontier) -> None:
    hidden = listed("25", "1", is_hidden=True)

    assert [frontier.admit("demo", [hidden]).new for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(("windows", "is_known"), [(0, True), (1, True), (2, False)])
def test_a_rolling_guard_remembers_the_window_before_and_none_further_back(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], windows: int, is_known: bool
) -> None:
    publish(guard="rolling rolling rolling", rolling_ms=31_536_000_000)  # a year: none ends within the test
    frontier.admit("demo", posts(300))
    for field, value in client.hgetall("test:s:demo:seen").items():
        client.hdel("test:s:demo:seen", field)
        client.hset("test:s:demo:seen", older(field, windows), value)
    for key in list(client.scan_iter("test:s:demo:seen:*")):
        client.rename(key, older(key, windows))

    admission = frontier.admit("demo", posts(300))

    assert (admission.known, admission.new) == ((300, 0) if is_known else (0, 300))


def older(name: bytes, windows: int) -> bytes:
    """Return the name of the same table so many windows before."""
    table, _, rest = name.partition(b"@")
    window, _, place = rest.partition(b":")
    return b"%b@%d:%b" % (table, int(window) - windows, place)


def buckets(client: redis.Redis) -> int:
    """Count the keys that hold addresses."""
    return len(list(client.scan_iter("test:s:demo:seen:*", count=1000)))


def test_a_rolling_guard_by_length_knows_the_last_addresses_and_forgets_those_two_windows_back(
    frontier: Frontier, publish: Callable[..., None]
) -> None:
    publish(guard="rolling rolling rolling", guard_length=1000)
    for start in range(1, 3001, 100):
        assert frontier.admit("demo", posts(100, start)).new == 100

    assert frontier.admit("demo", posts(1000, 2001)).known == 1000
    assert frontier.admit("demo", posts(1000, 1)).new == 1000
    assert list(Admin(frontier).audit.guard("demo")) == []


def test_a_rolling_guard_by_length_takes_no_more_memory_however_many_it_saw(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="rolling rolling rolling", guard_length=2000)
    most = 0
    for start in range(1, 20_001, 500):
        frontier.admit("demo", posts(500, start))
        most = max(most, buckets(client))

    # Three windows of 21 buckets, of which one grows while another goes.
    assert 42 <= most <= 64
    assert client.hlen("test:s:demo:seen") <= 6


def test_a_rolling_guard_by_length_drops_what_a_longer_one_held(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="rolling rolling rolling", guard_length=5000)
    for start in range(1, 10_001, 500):
        frontier.admit("demo", posts(500, start))
    publish(guard="rolling rolling rolling", guard_length=500)
    for start in range(10_001, 14_001, 100):
        frontier.admit("demo", posts(100, start))

    assert buckets(client) <= 18


@pytest.mark.parametrize("guard", ["exact exact exact", "rolling rolling rolling"])
def test_an_unchanged_page_is_requested_again_at_every_so_many_th_listing(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None], guard: str
) -> None:
    publish(guard=guard, guard_hits=3)

    new = [frontier.admit("demo", [post(1), post(2)][: 1 + n // 5]).new for n in range(10)]

    # Post 1 is listed ten times, post 2 from the sixth listing on.
    assert new == [1, 0, 0, 1, 0, 1, 1, 0, 1, 1]
    assert list(Admin(frontier).audit.guard("demo")) == []


def test_a_changed_page_does_not_wait_for_its_hits(frontier: Frontier, publish: Callable[..., None]) -> None:
    publish(guard="exact exact exact", guard_hits=3)

    new = [frontier.admit("demo", [listed(count)]).new for count in ("25", "25", "26", "26", "26", "27")]

    assert new == [1, 0, 1, 0, 1, 1]


def test_the_database_as_guard_lets_all_pass_but_what_is_marked_as_stored(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(guard="rolling database database")

    assert [frontier.admit("demo", [post(1)]).new for _ in range(2)] == [1, 1]
    assert frontier.admit("demo", [post(1)._replace(is_stored=True)]).known == 1
    assert buckets(client) == 0
