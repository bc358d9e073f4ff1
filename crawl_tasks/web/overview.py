"""The first page: how the whole crawl stands, and every site in a row, those that need somebody first."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from crawl_tasks.alerts.conditions import MEMORY_SHARE
from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.model import Stage
from crawl_tasks.monitor.advice import Advice, Level, advise, counted, duration, of_installation
from crawl_tasks.monitor.charts import number, plot, spark
from crawl_tasks.monitor.history import ALL, History
from crawl_tasks.monitor.snapshot import SiteSnapshot, Snapshot
from crawl_tasks.web.layout import Visitor, frame

REFRESH_S = 10
MOST_ROWS = 200
COLOURS = {Level.FINE: "good", Level.NOTE: "note", Level.ACT: "bad"}
HEADS = ("site", "next", "on time", "backlog", "pages / min", "new posts / min", "errors, 1 h", "freshness p50 / p95")


def overview(snapshot: Snapshot, history: History, visitor: Visitor, most_rows: int = MOST_ROWS) -> str:
    """Write the page."""
    advised = [(site, advise(site, snapshot)) for site in snapshot.sites]
    advised.sort(key=lambda row: (-row[1].level, row[0].name))
    rows = "".join(_row(site, advice, history) for site, advice in advised[:most_rows])
    more = len(advised) - most_rows
    rest = f'<p><a href="/?all=1">{more} more sites, with nothing more urgent</a></p>' if more > 0 else ""
    head = "".join(f'<th scope="col">{name}</th>' for name in HEADS)
    table = f'<div class="sites"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'
    none = "<p>No site is published yet: write config/sites/NAME.yaml, then run crawl-tasks sites check</p>"
    levels = [advice.level for _, advice in advised]
    body = (
        f"{troubles(snapshot)}{tiles(snapshot, history)}<h2>Sites: {_verdict(levels)}</h2>{table if advised else none}"
        f"<h2>The last hour</h2>{plots(history)}"
    )
    needy = levels.count(Level.ACT)
    return frame(f"({needy}) crawl_tasks" if needy else "crawl_tasks", body, visitor, REFRESH_S, snapshot.at_ms)


def _verdict(levels: Sequence[Level]) -> str:
    words = {Level.ACT: "to act on", Level.NOTE: "to note", Level.FINE: "in order"}
    parts = [
        f'<span class="{COLOURS[level]}">{count} {text}</span>'
        for level, text in words.items()
        if (count := levels.count(level))
    ]
    return " · ".join(parts) or "none"


def troubles(snapshot: Snapshot) -> str:
    """Write what keeps all sites from moving."""
    return "".join(f'<p class="said bad">{escape(text)}</p>' for text in of_installation(snapshot))


def tiles(snapshot: Snapshot, history: History) -> str:
    """Write what concerns all sites."""
    late = sum(site.boards.late for site in snapshot.sites)
    boards = sum(site.boards.total for site in snapshot.sites)
    fresh = history.freshness()
    workers = " · ".join(f"{name} {snapshot.workers_of(name)}" for name in snapshot.queues if name != "control")
    missing = [stage for stage in Stage if not snapshot.workers_of(stage.value)]
    return (
        '<div class="tiles">'
        + "".join(
            [
                tile("boards on time", f"{boards - late} of {boards}", "bad" if late else "good"),
                tile("pages done", number(snapshot.done)),
                tile("open", number(snapshot.open)),
                tile("dead or parked", number(snapshot.given_up), "note" if snapshot.given_up else ""),
                tile("pages to store", number(snapshot.outbox)),
                tile("freshness p50 / p95", quantiles(fresh)),
                tile(workers, counted(len(snapshot.processes), "worker"), "bad" if missing else ""),
                tile(
                    "beat", "alive" if snapshot.is_beat_alive else "silent", "good" if snapshot.is_beat_alive else "bad"
                ),
                _memory(snapshot),
                *_shelved(snapshot),
                *_start_entries(snapshot),
            ]
        )
        + "</div>"
    )


def _memory(snapshot: Snapshot) -> str:
    used, most = snapshot.vitals.memory_bytes, snapshot.vitals.max_memory_bytes
    limit = f" of {most / 1e6:.0f}" if most else ""
    return tile("Redis memory", f"{used / 1e6:.0f}{limit} MB", "bad" if most and used > MEMORY_SHARE * most else "")


def _shelved(snapshot: Snapshot) -> list[str]:
    count = snapshot.vitals.shelved
    return [tile("laid aside: crawl-tasks shelf list", counted(count, "page"), "bad")] if count else []


def _start_entries(snapshot: Snapshot) -> list[str]:
    taken, refused = sum(snapshot.starts.values()), snapshot.starts["refused"]
    if not taken and not snapshot.vitals.claims:
        return []  # nobody sends any here
    return [tile("start entries / refused", f"{number(taken)} / {number(refused)}", "note" if refused else "")]


def tile(name: str, value: str, colour: str = "") -> str:
    """Write one number with its name."""
    return f'<div class="tile"><b class="{colour}">{escape(value)}</b><span>{escape(name)}</span></div>'


def plots(history: History, name: str = ALL, *, is_over: bool = False) -> str:
    """Draw the last hour, or all of a crawl that is over."""
    readings = history.of(name)
    span = duration((readings[-1].at_ms - readings[0].at_ms) / 1000) if readings else "0 s"
    times = ("begin", span) if is_over else (f"{span} ago", "now")
    stored = [
        ("posts", history.per_minute(name, lambda reading: reading.posts)),
        ("comments", history.per_minute(name, lambda reading: reading.comments)),
    ]
    fetched = [
        ("pages", history.per_minute(name, lambda reading: reading.pages)),
        ("failed attempts", history.per_minute(name, lambda reading: reading.failed)),
    ]
    backlog = [("open", [reading.open for reading in readings])]
    return (
        f'<div class="plots">{plot(fetched, "per minute:", times)}{plot(stored, "new per minute:", times)}'
        f"{plot(backlog, 'open requests', times)}</div>"
    )


def quantiles(freshness: Histogram | None) -> str:
    """Write the median and the 95th percentile of a histogram."""
    if freshness is None or not freshness.count:
        return "–"
    return f"{duration(freshness.quantile(0.5))} / {duration(freshness.quantile(0.95))}"


def _row(site: SiteSnapshot, advice: Advice, history: History) -> str:
    pages = history.per_minute(site.name, lambda reading: reading.pages)
    posts = history.per_minute(site.name, lambda reading: reading.posts)
    waiting = {stage.value: count.ready + count.released for stage, count in site.census.stages.items()}
    backlog = " · ".join(f"{stage} {number(count)}" for stage, count in waiting.items() if count) or "–"
    boards = site.boards
    cells = [
        ("", "row site", f'<b><a href="/site/{escape(site.name)}">{escape(site.name)}</a></b> {state(site)}'),
        ("", f"row wide {COLOURS[advice.level]}", escape(advice.text)),
        (
            "boards on time",
            "nowrap",
            f'<span class="{"bad" if boards.late else ""}">{boards.on_time}/{boards.total}</span>',
        ),
        ("backlog", "row nowrap", backlog),
        ("pages/min", "nowrap", _rate(pages, "pages per minute")),
        ("posts/min", "nowrap", _rate(posts, "new posts per minute")),
        ("errors, 1 h", "nowrap", _errors(site, history)),
        ("freshness", "nowrap", quantiles(history.freshness(site.name))),
    ]
    return "<tr>" + "".join(_cell(*cell) for cell in cells) + "</tr>"


def _cell(name: str, kind: str, text: str) -> str:
    named = f' data-name="{name}"' if name else ""
    return f'<td class="{kind}"{named}>{text}</td>'


def state(site: SiteSnapshot) -> str:
    """Write whether a site is paused, draining, shut, working or waiting."""
    if site.is_paused:
        return '<span class="note">paused</span>'
    if site.is_draining:
        return '<span class="note">draining</span>'
    if site.quarantined:
        return f'<span class="bad">quarantined: {", ".join(stage.value for stage in site.quarantined)}</span>'
    is_busy = site.census.leased or site.census.released
    word, colour = ("working", "good") if is_busy else ("waiting", "quiet")
    return f'<span class="{colour}">{word}</span>'


def _rate(values: Sequence[float], what: str) -> str:
    return f"{spark(values, what)} {number(values[-1]) if values else '–'}"


def _errors(site: SiteSnapshot, history: History) -> str:
    failed = history.rose(site.name, lambda reading: reading.failed)
    pages = history.rose(site.name, lambda reading: reading.pages)
    share = failed / max(1, failed + pages)
    return f'<span class="{"bad" if share > 0.1 else ""}">{number(failed)} ({share:.0%})</span>'
