"""Quiet hours and the daily budget of a site, in its own zone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.redis_functions import scoped
from crawl_tasks.frontier.replies import NoLease
from crawl_tasks.model import Parsed
from crawl_tasks.monitor.progress import plain_text
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.quiet_hours import minutes, offsets
from tests.frontier.by_hand import NOTHING, lease, posts, released
from tests.frontier.small_crawl import RULES

CALENDAR = scoped("lib/quiet_hours")
BERLIN = ZoneInfo("Europe/Berlin")


def opens_at(client: redis.Redis, now: datetime, quiet: str = "", budget: int = 0, spent: str = "") -> datetime | None:
    """Ask the calendar alone, at a moment of our choice."""
    told = offsets(BERLIN, now.timestamp() - 86_400)
    script = (
        f"{CALENDAR}\nreturn string.format('%.0f', opens_at(tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]+0, ARGV[5]))"
    )
    at = int(client.eval(script, 0, round(now.timestamp() * 1000), told, quiet, budget, spent))
    return datetime.fromtimestamp(at / 1000, BERLIN) if at else None


def berlin(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=BERLIN)


@pytest.mark.parametrize(
    ("now", "quiet", "opens"),
    [
        ("2026-11-21T22:59:59", "23:00-07:00", None),
        ("2026-11-21T23:00:00", "23:00-07:00", "2026-11-22T07:00:00"),
        ("2026-11-22T06:59:59", "23:00-07:00", "2026-11-22T07:00:00"),
        ("2026-11-22T07:00:00", "23:00-07:00", None),
        ("2026-11-22T12:30:00", "12:00-13:00", "2026-11-22T13:00:00"),
        ("2027-03-27T23:30:00", "23:00-07:00", "2027-03-28T07:00:00"),  # clocks go forward in that night
        ("2026-10-24T23:30:00", "23:00-07:00", "2026-10-25T07:00:00"),  # and back
    ],
)
def test_quiet_hours_end_by_the_clock_of_the_zone(client: redis.Redis, now: str, quiet: str, opens: str | None) -> None:
    found = opens_at(client, berlin(now), minutes(quiet))

    assert found == (berlin(opens) if opens else None)


@pytest.mark.parametrize(
    ("now", "opens"),
    [
        ("2026-11-21T13:00:00", "2026-11-22T00:00:00"),
        ("2027-03-28T01:00:00", "2027-03-29T00:00:00"),  # a day of 23 hours
        ("2026-10-25T01:00:00", "2026-10-26T00:00:00"),  # and of 25
    ],
)
def test_a_spent_budget_waits_for_midnight_of_the_zone(client: redis.Redis, now: str, opens: str) -> None:
    at = berlin(now)
    today = (at.date() - datetime(1970, 1, 1, tzinfo=UTC).date()).days

    assert opens_at(client, at, budget=5, spent=f"{today} 5") == berlin(opens)
    assert opens_at(client, at, budget=5, spent=f"{today} 4") is None
    assert opens_at(client, at, budget=5, spent=f"{today - 1} 99") is None


def test_a_site_gives_as_many_leases_a_day_as_its_budget(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    noon = 43_200 - frontier.clock_ms() // 1000 % 86_400  # in a zone where no midnight comes between
    publish(daily_budget=3, offsets=f"{noon}@0", window=5)
    frontier.admit("demo", posts(5))
    first, second, third, fourth, _ = released(client)

    held = [lease(frontier, rid) for rid in (first, second, third)]
    refusal = frontier.lease("demo", fourth)
    frontier.commit(held[0], NOTHING)

    assert refusal is NoLease.TOO_EARLY
    assert released(client) == [], "what is over is not released"
    [site] = take_snapshot(frontier).sites
    assert 0 < site.rests_s(frontier.clock_ms()) <= 86_400
    assert "rests for " in plain_text(take_snapshot(frontier))


def test_nothing_is_leased_in_quiet_hours_and_all_goes_on_when_they_are_over(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    frontier.admit("demo", posts(2))
    first, second = released(client)
    here = datetime.fromtimestamp(frontier.clock_ms() / 1000, UTC)
    begin, end = (f"{here + timedelta(hours=hours):%H:%M}" for hours in (-2, 2))

    publish(quiet=minutes(f"{begin}-{end}"), offsets="0@0")
    refusal = frontier.lease("demo", first)
    publish(quiet=minutes(f"{end}-{begin}"), offsets="0@0")

    assert refusal is NoLease.TOO_EARLY
    lease(frontier, second)


def test_links_beyond_the_daily_cap_are_left_out_counted_and_found_again_another_day(
    frontier: Frontier, client: redis.Redis, publish: Callable[..., None]
) -> None:
    publish(daily_new=3)
    frontier.admit("demo", posts(2))  # asked for by hand: not counted
    first, second = released(client)

    receipt = frontier.commit(lease(frontier, first), Parsed(NOTHING.items, tuple(posts(5, start=10))))
    [site] = take_snapshot(frontier).sites
    publish(daily_new=9)
    again = frontier.commit(lease(frontier, second), Parsed(NOTHING.items, tuple(posts(5, start=10))))

    assert receipt is not None
    assert again is not None
    assert (receipt.new, site.capped, again.new) == (3, {"daily_new": 2}, 2)


@pytest.mark.parametrize("hours", ["23-07", "24:00-01:00", "07:00-07:00", "7:00-8:00"])
def test_hours_that_are_none_are_refused_with_line_and_field(hours: str) -> None:
    text = RULES.replace("gate: {", f'gate: {{quiet_hours: ["{hours}"], ')

    with pytest.raises(ConfigError, match=r"demo\.yaml:4.*quiet_hours"):
        parse_site(text, "demo.yaml")
