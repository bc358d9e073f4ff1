"""An hour's memory, and the charts drawn of it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import redis

from crawl_tasks.frontier.admin.history_store import MOST_READINGS, HistoryStore
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.charts import bars, nice, number, plot, spark
from crawl_tasks.monitor.history import MINUTES, History, total_reading
from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.web.overview import plots
from crawl_tasks.web.snapshot_cache import SnapshotCache
from tests.frontier.by_hand import TERMS

QUEUES = ["list", "post", "comment", "store", "control"]


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    return Frontier(client, "test")


@pytest.fixture
def now(frontier: Frontier) -> Snapshot:
    """One site, with nothing done, and workers for everything."""
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    frontier.heartbeat("here:1", QUEUES)
    frontier.produce()
    return take_snapshot(frontier)


MINUTELY = [0, 60_000, 120_000]


def at(snapshot: Snapshot, minute: float, **stats: int) -> Snapshot:
    [site] = snapshot.sites
    counts = replace(site.counts, stats=stats)
    health = replace(snapshot.health, at_ms=snapshot.at_ms + round(minute * 60_000))
    return Snapshot((replace(site, counts=counts),), health)


def posts(history: History, name: str = "demo") -> list[float]:
    return history.per_minute(name, lambda reading: reading.posts)


def test_rates_are_differences_by_the_minute(now: Snapshot) -> None:
    history = History()
    for minute, count in enumerate((0, 10, 10, 40)):
        history.note(at(now, minute, **{"post:new": count}))

    assert posts(history) == [10, 0, 30]
    assert posts(history, "") == [10, 0, 30]
    assert history.rose("demo", lambda reading: reading.posts) == 40


def test_looks_within_a_minute_are_one_reading_and_a_short_step_is_no_rate(now: Snapshot) -> None:
    history = History()
    for minute in (0, 0.3, 0.6, 0.9, 1.2, 1.3):
        history.note(at(now, minute, **{"post:new": round(minute * 10)}))

    assert [round((reading.at_ms - now.at_ms) / 60_000, 1) for reading in history.of("demo")] == [0, 1.2, 1.3]
    assert posts(history) == [10]


def test_an_hour_is_kept_and_no_more_and_sites_that_are_gone_are_forgotten(now: Snapshot) -> None:
    history = History()
    for minute in range(200):
        history.note(at(now, minute))

    assert len(history.of("demo")) == MINUTES + 1
    history.note(Snapshot((), replace(now.health, at_ms=now.at_ms + 10**9)))
    assert history.of("demo") == ()


def test_counters_that_began_again_are_no_negative_rate(now: Snapshot) -> None:
    history = History()
    history.note(at(now, 0, **{"post:new": 90}))
    history.note(at(now, 1, **{"post:new": 5}))

    assert posts(history) == [0]


def test_freshness_is_that_of_the_hour(now: Snapshot) -> None:
    history = History()
    history.note(at(now, 0, **{"fresh:9": 1000}))
    history.note(at(now, 1, **{"fresh:9": 1000, "fresh:2": 4}))

    freshness = history.freshness("demo")

    assert freshness is not None
    assert freshness.quantile(0.95) == pytest.approx(29)


@pytest.mark.parametrize(
    ("values", "words"),
    [([], "none yet"), ([3.0], "last 3, at most 3"), ([0.0, 8.0, 2.0], "last 2, at most 8")],
)
def test_a_small_chart_says_its_numbers_too(values: list[float], words: str) -> None:
    drawn = spark(values, MINUTELY, "pages <a>")

    assert words in drawn
    assert "<a>" not in drawn


def test_a_plot_tells_the_values_of_the_moment_under_the_pointer() -> None:
    moments = [minute * 60_000 for minute in (605, 606)]

    drawn = plot([("a", [1.0, 730.0]), ("<b>", [0.0, 2.0])], moments, "x", ("5 min ago", "now"), " ms")

    assert "<title>10:06 a 730 ms, &lt;b&gt; 2 ms</title>" in drawn
    assert drawn.count("<title>") == 2


def test_a_plot_leaves_a_gap_where_nothing_was_measured(now: Snapshot) -> None:
    history = History()
    for minute, count in enumerate((0, 5, 5, 9)):
        health = replace(now.health, at_ms=minute * 60_000, counters={"fetch:list:1": count})
        history.note(replace(now, health=health))

    drawn = plots(history)
    slow = drawn[drawn.index("fetch p95 in ms:") :]

    assert slow.count('class="line c0"') == 2
    assert len(re.findall(r"<title>\S+ list –, post –, comment –</title>", slow)) == 1


def test_the_next_exporter_goes_on_with_the_charts_of_the_last(frontier: Frontier, now: Snapshot) -> None:
    charts, before = HistoryStore(frontier), History()
    for minute in range(3):
        before.note(at(now, minute, **{"post:new": 10 * minute}))
        charts.keep(before.packed())
        pass_a_minute(frontier)
    charts.keep(b"of another version")

    cache = SnapshotCache(lambda: at(now, 3, **{"post:new": 50}), charts=charts)
    cache.now()

    rises = cache.history.per_minute("demo", lambda reading: reading.posts)
    assert rises == [10, 10, 30]
    assert cache.history.of() == (*before.of(), total_reading(at(now, 3, **{"post:new": 50})))


def test_of_several_exporters_one_keeps_a_reading_a_minute_and_a_day_old_chart_is_gone(
    frontier: Frontier, now: Snapshot, client: redis.Redis
) -> None:
    charts, history = HistoryStore(frontier), History()
    history.note(now)
    for _ in range(3):
        charts.keep(history.packed())

    assert len(charts.kept()) == 1
    assert 0 < client.ttl("test:charts") <= 7200
    pass_a_minute(frontier, minutes=61)
    assert charts.kept() == []
    for _ in range(70):
        charts.keep(history.packed())
        pass_a_minute(frontier)
    assert client.llen("test:charts") == MOST_READINGS


def pass_a_minute(frontier: Frontier, minutes: int = 1) -> None:
    """Let the kept readings be so much older."""
    rows = [row.split(b" ", 1) for row in frontier.client.lrange("test:charts", 0, -1)]
    frontier.client.delete("test:charts")
    frontier.client.rpush("test:charts", *(b"%d %b" % (int(at) - 60_000 * minutes, text) for at, text in rows))


def test_a_plot_has_a_scale_that_holds_every_value() -> None:
    drawn = plot([("a", [1.0, 730.0]), ("b", [0.0, 2.0])], MINUTELY, "x", ("5 min ago", "now"))

    assert ">1000<" in drawn
    assert drawn.count("<polyline") == 2
    assert "none" in bars([], "x")


def test_a_chart_is_drawn_by_time_and_shows_a_gap_where_no_exporter_looked() -> None:
    moments = [60_000 * minute for minute in (0, 1, 2, 3, 19, 20, 40)]

    drawn = plot([("a", [5.0] * len(moments))], moments, "x", ("40 min ago", "now"))
    small = spark([5.0] * len(moments), moments, "x")

    # The chart is 354 wide from 44 on: minute 19 of 40 stands in the middle, and a single reading is a dot.
    lines = [
        [float(point.split(",")[0]) for point in line.split()] for line in re.findall(r'c0" points="(.*?)"', drawn)
    ]
    assert lines == [[44, 52.9, 61.7, 70.5], [212.2, 221.0], [398.0, 398.0]]
    assert (small.count("<polyline"), small.count("<polygon")) == (3, 3)
    # No strip reaches into a gap: the pointer tells nothing there.
    strips = re.findall(r'x="([\d.]+)" y="8" width="([\d.]+)"', drawn)
    assert {float(width) for _, width in strips} == {8.8}
    assert float(strips[4][0]) > 212.2 - 5


@pytest.mark.parametrize(("top", "scale"), [(0, 1), (1, 1), (3, 5), (7, 10), (730, 1000), (1001, 2000), (2300, 5000)])
def test_a_scale_ends_at_a_round_number(top: float, scale: float) -> None:
    assert nice(top) == scale


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0"), (3.25, "3.2"), (9999, "9999"), (12_345, "12.3k"), (3.2e6, "3.2M"), (5e9, "5G")]
)
def test_numbers_are_written_short(value: float, written: str) -> None:
    assert number(value) == written


@pytest.mark.parametrize(
    ("seconds", "written"), [(None, "–"), (45.4, "45 s"), (600, "10 min"), (7200, "2 h"), (10 * 86_400, "10 d")]
)
def test_durations_are_written_for_people(seconds: float | None, written: str) -> None:
    assert duration(seconds) == written
