"""The overview page: the state of the whole crawl, and a row for every site, sites that need an operator first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from html import escape
from itertools import pairwise
from operator import attrgetter

from crawl_tasks.frontier.histogram import Histogram
from crawl_tasks.model import Stage
from crawl_tasks.monitor.charts import number, plot, spark
from crawl_tasks.monitor.history import ALL, History, Reading
from crawl_tasks.monitor.humanize import counted, duration
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.installation_kinds import MEMORY_SHARE
from crawl_tasks.monitor.problems.kinds import Problem, Severity
from crawl_tasks.monitor.problems.registry import CurrentProblems
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.web.layout import WebUser, frame

REFRESH_S = 10
MOST_ROWS = 200
COLOURS = {None: "good", Severity.INFO: "note", Severity.WARNING: "bad", Severity.CRITICAL: "bad"}
HEADS = ("site", "next", "on time", "backlog", "pages / min", "new posts / min", "errors, 1 h", "freshness p50 / p95")
ON_PHONE = ("", "", "boards on time", "backlog", "pages/min", "posts/min", "errors, 1 h", "freshness")
"""The names of the columns where each row is a card."""


def overview(snapshot: Snapshot, history: History, user: WebUser, most_rows: int = MOST_ROWS) -> str:
    """Return the page."""
    current = CurrentProblems(snapshot)
    judged = [(site, next(iter(current.of(site)), None)) for site in snapshot.sites]
    judged.sort(key=lambda row: (-row[1].severity.rank if row[1] else 1, row[0].name))
    rows = "".join(_row(site, problem, history) for site, problem in judged[:most_rows])
    more = len(judged) - most_rows
    text = gettext("{count} more sites, with nothing more urgent", count=more)
    rest = f'<p><a href="/?all=1">{text}</a></p>' if more > 0 else ""
    head = "".join(f'<th scope="col">{gettext(name)}</th>' for name in HEADS)
    table = f'<div class="sites"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>{rest}'
    colours = [_colour(problem) for _, problem in judged]
    body = (
        f"{troubles(current)}{tiles(snapshot, history)}<h2>{gettext('Sites:')} {_verdict(colours)}</h2>"
        f"{table if judged else ''}<h2>{gettext('The last hour')}</h2>{plots(history)}"
    )
    needy = colours.count("bad")
    return frame(f"({needy}) crawl_tasks" if needy else "crawl_tasks", body, user, REFRESH_S, snapshot.at_ms)


def _colour(problem: Problem | None) -> str:
    return COLOURS[problem.severity if problem else None]


def _verdict(colours: Sequence[str]) -> str:
    words = {"bad": gettext("to act on"), "note": gettext("to note"), "good": gettext("in order")}
    parts = [
        f'<span class="{colour}">{count} {text}</span>'
        for colour, text in words.items()
        if (count := colours.count(colour))
    ]
    return " · ".join(parts) or gettext("none")


def troubles(current: CurrentProblems) -> str:
    """Return the problems of the whole installation."""
    return "".join(problem_paragraph(problem, problem.advice()) for problem in current.installation)


def problem_paragraph(problem: Problem, text: str) -> str:
    """Return a problem as a paragraph in the colour of its severity."""
    return f'<p class="said {_colour(problem)}">{escape(text)}</p>'


def tiles(snapshot: Snapshot, history: History) -> str:
    """Return the numbers of all sites together."""
    on_time = sum(site.boards.on_time for site in snapshot.sites)
    boards = sum(site.boards.total for site in snapshot.sites)
    fresh = history.freshness()
    workers = " · ".join(f"{name} {snapshot.workers_of(name)}" for name in snapshot.queues if name != "control")
    missing = [stage for stage in Stage if not snapshot.workers_of(stage.value)]
    beat = (gettext("alive"), "good") if snapshot.is_beat_alive else (gettext("silent"), "bad")
    return tiles_of(
        [
            on_time_tile(on_time, boards),
            tile("pages done", number(snapshot.done)),
            tile("open", number(snapshot.open)),
            tile("dead or parked", number(snapshot.given_up), "note" if snapshot.given_up else ""),
            tile("pages to store", number(snapshot.outbox)),
            tile("freshness p50 / p95", quantiles(fresh)),
            tile(workers, counted(len(snapshot.processes), "worker"), "bad" if missing else ""),
            tile("beat", *beat),
            _memory(snapshot),
            *_rejected(snapshot),
            *_start_entries(snapshot),
        ]
    )


def _memory(snapshot: Snapshot) -> str:
    used, most = snapshot.health.memory_bytes, snapshot.health.max_memory_bytes
    value = f"{used / 1e6:.0f}"
    if most:
        value = gettext("{count} of {total}", count=value, total=f"{most / 1e6:.0f}")
    return tile("Redis memory", f"{value} MB", "bad" if most and used > MEMORY_SHARE * most else "")


def _rejected(snapshot: Snapshot) -> list[str]:
    count = snapshot.health.rejected
    return [tile("rejected", counted(count, "page"), "bad")] if count else []


def _start_entries(snapshot: Snapshot) -> list[str]:
    taken, refused = sum(snapshot.starts.values()), snapshot.starts["refused"]
    if not taken and not snapshot.health.claims:
        # Most installations have no start entries, and a row of zeros would only take room.
        return []
    return [tile("start entries / refused", f"{number(taken)} / {number(refused)}", "note" if refused else "")]


def tiles_of(tiles: Iterable[str]) -> str:
    """Return a row of tiles."""
    return f'<div class="tiles">{"".join(tiles)}</div>'


def tile(name: str, value: str, colour: str = "") -> str:
    """Return a tile: one number with its name."""
    return f'<div class="tile"><b class="{colour}">{escape(value)}</b><span>{escape(gettext(name))}</span></div>'


def on_time_tile(on_time: int, boards: int) -> str:
    """Return the tile of the boards that are scanned on time."""
    value = gettext("{count} of {total}", count=on_time, total=boards)
    return tile("boards on time", value, "bad" if on_time < boards else "good")


def plots(history: History, name: str = ALL, *, is_over: bool = False) -> str:
    """Return the charts of the last hour, or of a whole crawl."""
    readings = history.of(name)
    span = duration((readings[-1].at_ms - readings[0].at_ms) / 1000) if readings else "0 s"
    times = (gettext("begin"), span) if is_over else (gettext("{duration} ago", duration=span), gettext("now"))
    moments = [reading.at_ms for reading in readings]
    stored = [
        (gettext("posts"), history.per_minute(name, attrgetter("posts"))),
        (gettext("comments"), history.per_minute(name, attrgetter("comments"))),
    ]
    fetched = [
        *((stage.value, history.per_minute(name, partial(_done, at))) for at, stage in enumerate(Stage)),
        (gettext("failed"), history.per_minute(name, attrgetter("failed"))),
    ]
    backlog = [(gettext("open"), [reading.open for reading in readings])]
    charts = [
        plot(fetched, moments[1:], "pages a minute:", times),
        plot(stored, moments[1:], "new a minute:", times),
        plot(backlog, moments, "open requests", times),
    ]
    if readings and readings[-1].fetch:
        slow = [(stage.value, _fetch_ms(readings, at)) for at, stage in enumerate(Stage)]
        charts.append(plot(slow, moments[1:], "fetch p95 in ms:", times))
    return f'<div class="plots">{"".join(charts)}</div>'


def _done(stage: int, reading: Reading) -> int:
    return reading.stages[stage]


def _fetch_ms(readings: Sequence[Reading], stage: int) -> list[float | None]:
    """Return the 95th percentile of the fetch times of each step, None where nothing was fetched."""
    return [
        after.fetch[stage].since(before.fetch[stage]).quantile(0.95) if before.fetch and after.fetch else None
        for before, after in pairwise(readings)
    ]


def quantiles(freshness: Histogram | None) -> str:
    """Return the median and the 95th percentile of a histogram as text."""
    if freshness is None or not freshness.count:
        return "–"
    return f"{duration(freshness.quantile(0.5))} / {duration(freshness.quantile(0.95))}"


def _row(site: SiteSnapshot, problem: Problem | None, history: History) -> str:
    moments = [reading.at_ms for reading in history.of(site.name)][1:]
    pages = history.per_minute(site.name, attrgetter("pages"))
    posts = history.per_minute(site.name, attrgetter("posts"))
    waiting = {stage.value: count.ready + count.released for stage, count in site.counts.stages.items()}
    backlog = " · ".join(f"{stage} {number(count)}" for stage, count in waiting.items() if count) or "–"
    boards = site.boards
    cells = [
        ("row site", f'<b><a href="/site/{escape(site.name)}">{escape(site.name)}</a></b> {state(site)}'),
        (f"row wide {_colour(problem)}", escape(problem.advice(site.name) if problem else gettext("nothing to do"))),
        (
            "nowrap",
            f'<span class="{"bad" if boards.on_time < boards.total else ""}">{boards.on_time}/{boards.total}</span>',
        ),
        ("row nowrap", backlog),
        ("nowrap", _rate(pages, moments, gettext("pages per minute"))),
        ("nowrap", _rate(posts, moments, gettext("new posts per minute"))),
        ("nowrap", _errors(site, history)),
        ("nowrap", quantiles(history.freshness(site.name))),
    ]
    named = [f' data-name="{gettext(name)}"' if name else "" for name in ON_PHONE]
    columns = (f'<td class="{kind}"{name}>{text}</td>' for name, (kind, text) in zip(named, cells, strict=True))
    return f"<tr>{''.join(columns)}</tr>"


def state(site: SiteSnapshot) -> str:
    """Return the state of a site: paused, draining, circuit breaker open, working or waiting."""
    if site.is_paused:
        return f'<span class="note">{gettext("paused")}</span>'
    if site.is_draining:
        return f'<span class="note">{gettext("draining")}</span>'
    if site.open_breakers:
        stages = ", ".join(stage.value for stage in site.open_breakers)
        return f'<span class="bad">{gettext("circuit breaker open: {stages}", stages=stages)}</span>'
    is_busy = site.counts.leased or site.counts.released
    word, colour = (gettext("working"), "good") if is_busy else (gettext("waiting"), "quiet")
    return f'<span class="{colour}">{word}</span>'


def _rate(values: Sequence[float], moments: Sequence[int], name: str) -> str:
    return f"{spark(values, moments, name)} {number(values[-1]) if values else '–'}"


def _errors(site: SiteSnapshot, history: History) -> str:
    failed = history.rose(site.name, attrgetter("failed"))
    pages = history.rose(site.name, attrgetter("pages"))
    share = failed / max(1, failed + pages)
    return f'<span class="{"bad" if share > 0.1 else ""}">{number(failed)} ({share:.0%})</span>'
