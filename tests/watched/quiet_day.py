"""A day of ten healthy forums in 24 hours of Prometheus: python -m tests.watched.quiet_day [SECONDS BETWEEN TWO LOOKS].

Real processes crawl ten forums, and the exporter's metrics are read again and again: by day, at night, while a forum
answers slowly or hiccups, while workers are restarted or killed, and so on. Each look stands for a scrape, 30 s after
the one before. The day is made of these looks: a counter grows by what it grew, a gauge has the value that it had.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Final

from crawl_tasks.web.exposition import MetricKind
from crawl_tasks.web.metrics import FAMILIES
from tests.flow.world import CELERY, ROOT
from tests.waiting import eventually
from tests.watched.forum import Forum
from tests.watched.places import Installation, get

FORUMS: Final = 10
LOOKS: Final = 8
SCRAPES_AN_HOUR: Final = 120
GAP: Final = 3
"""Scrapes in a row that fail: a minute and a half. After two minutes that is an alert of its own."""
NIGHT: Final = range(1, 6)
"""Hours without a new comment."""

RULES: Final = ROOT / "docker" / "prometheus" / "rules.yml"
_COUNTERS: Final = {one.name for one in FAMILIES if one.kind is not MetricKind.GAUGE}
_LINE: Final = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)

Look = Mapping[str, float]
"""The value of each series of a scrape."""


@dataclass(frozen=True)
class Step:
    """What a scrape shows: the values of gauges, and how much counters have grown since the scrape before."""

    gauges: Look
    grown: Look


class Day:
    """Ten forums and the processes that crawl them."""

    def __init__(self, directory: Path, every_s: float) -> None:
        self.every_s = every_s
        self.there = Installation(directory)
        for number in range(FORUMS):
            self.there.add(f"forum{number}", Forum())
        code, text = self.there.command("sites", "check")
        assert code == 0, text
        self.there.start(watchers=False)
        self.start_exporter()
        eventually(lambda: self.there.posts_done() >= FORUMS * 6, every_s=0.5)
        self.last = self.look()

    def start_exporter(self) -> None:
        there = self.there
        there.world.start("exporter", sys.executable, "-m", "crawl_tasks", "exporter", "--listen", there.exporter[7:])
        eventually(lambda: bool(self.look()), every_s=0.2)

    def look(self) -> Look:
        """Read the series that rules ask for, none while the exporter does not answer."""
        try:
            text = get(f"{self.there.exporter}/metrics")
        except OSError:
            return {}
        wanted = set(re.findall(r"crawl_\w+", RULES.read_text("utf-8")))
        return {
            f'{name}{{instance="one:9817",job="crawl"{"," + labels if labels else ""}}}': float(value)
            for name, labels, value in _LINE.findall(text)
            if name in wanted
        }

    def steps(self, count: int = LOOKS) -> Iterator[Step]:
        """Look so many times."""
        for _ in range(count):
            time.sleep(self.every_s)
            look, before, self.last = self.look(), self.last, {}
            self.last = look
            counters = {series for series in look if _is_counter(series)}
            gauges = {series: value for series, value in look.items() if series not in counters}
            yield Step(gauges, {series: look[series] - before.get(series, 0.0) for series in counters})

    def forums(self, **changed: object) -> None:
        for forum in self.there.forums.values():
            for name, value in changed.items():
                setattr(forum, name, value)


def _is_counter(series: str) -> bool:
    name = series.partition("{")[0]
    return name in _COUNTERS or re.sub(r"_(bucket|sum|count)$", "", name) in _COUNTERS


def _slow(day: Day) -> None:
    day.forums(latency_s=1.0)


def _hiccup(day: Day) -> None:
    next(iter(day.there.forums.values())).state = "failing"
    time.sleep(day.every_s / 2)
    day.forums(state="")


def _rest(day: Day) -> None:
    day.forums(latency_s=0.0, quiet=False, state="")


def _restart_worker(day: Day) -> None:
    day.there.restart_worker()


def _kill_worker(day: Day) -> None:
    day.there.world.kill("worker")
    day.there.world.worker("worker", "list,detail,store", "-c", "16")


def _restart_beat(day: Day) -> None:
    beat = day.there.world.processes.pop("beat")
    beat.terminate()
    beat.wait()
    day.there.world.start("beat", *CELERY, "beat")


def _restart_exporter(day: Day) -> None:
    exporter = day.there.world.processes.pop("exporter")
    exporter.terminate()
    exporter.wait()
    day.start_exporter()


def _pause(day: Day) -> None:
    assert day.there.command("pause", "forum3")[0] == 0


def _resume(day: Day) -> None:
    assert day.there.command("resume", "forum3")[0] == 0


EVENTS: Mapping[str, Callable[[Day], None]] = {
    "answers take a second": _slow,
    "answers come at once again": _rest,
    "a forum answers 500 for some seconds": _hiccup,
    "the worker is restarted": _restart_worker,
    "the worker is killed, and another one started": _kill_worker,
    "beat is restarted": _restart_beat,
    "the exporter is restarted": _restart_exporter,
    "a site is paused": _pause,
    "it goes on": _resume,
}
"""What happens now and then to a healthy crawl, in this order. None is to alarm anybody."""


@dataclass(frozen=True)
class Recording:
    """The looks of a crawl: by day, at night, and of each event."""

    day: Sequence[Step]
    night: Sequence[Step]
    events: Sequence[Sequence[Step]]


def record(directory: Path, every_s: float) -> Recording:
    """Crawl ten forums, and return what the exporter said meanwhile."""
    day = Day(directory, every_s)
    try:
        by_day = list(day.steps())
        day.forums(quiet=True)
        at_night = list(day.steps())
        _rest(day)
        events = []
        for begin in EVENTS.values():
            begin(day)
            events.append(list(day.steps()))
        return Recording(by_day, at_night, events)
    finally:
        day.there.close()


def hours(recording: Recording) -> Iterator[Step | None]:
    """Return the scrapes of 24 hours, None for one that failed. Each hour has an event, and a gap at its end."""
    events = cycle(recording.events)
    for hour in range(24):
        usual = cycle(recording.night if hour in NIGHT else recording.day)
        event = next(events)
        yield from islice(usual, SCRAPES_AN_HOUR // 2)
        yield from event
        yield from islice(usual, SCRAPES_AN_HOUR // 2 - len(event) - GAP)
        yield from [None] * GAP


def firing(scrapes: Iterable[Step | None], directory: Path) -> set[str]:
    """Let promtool judge all rules each minute over these scrapes, and return the alerts that fired."""
    series: dict[str, list[str]] = {}
    counted: dict[str, float] = {}
    up: list[str] = []
    for number, step in enumerate(scrapes):
        up.append("0" if step is None else "1")
        if step is None:
            continue
        for name, grown in step.grown.items():
            counted[name] = counted.get(name, 0.0) + grown
        for name, value in (step.gauges | {name: counted[name] for name in step.grown}).items():
            values = series.setdefault(name, [])
            values.extend(["_"] * (number - len(values)))
            values.append(f"{value:.6g}" if value % 1 else f"{value:.0f}")
    rows = [{"series": name, "values": " ".join(values)} for name, values in series.items()]
    rows.append({"series": 'up{job="crawl",instance="one:9817"}', "values": " ".join(up)})
    last = f"{len(up) // 2}m"
    expression = f'count by (alertname, site) (count_over_time(ALERTS{{alertstate="firing"}}[{last}]))'
    test = {
        "interval": "30s",
        "input_series": rows,
        "promql_expr_test": [{"expr": expression, "eval_time": last, "exp_samples": []}],
    }
    document = {"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}
    file = directory / "quiet_day.test.yml"
    file.write_text(json.dumps(document), "utf-8")
    done = subprocess.run(["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False)
    names = set(re.findall(r'alertname="(\w+)"', done.stdout + done.stderr))
    assert names or done.returncode == 0, done.stdout + done.stderr
    return names


def main() -> None:
    """Record, judge and print what fired."""
    every_s = float(sys.argv[1]) if sys.argv[1:] else 10.0
    with tempfile.TemporaryDirectory() as directory:
        recording = record(Path(directory) / "crawl", every_s)
        alerts = firing(hours(recording), Path(directory))
    attempts = sum(grown for step in recording.day for name, grown in step.grown.items() if "attempts_total" in name)
    sys.stdout.write(
        f"{FORUMS} forums, {attempts:.0f} attempts in {LOOKS} looks by day; alerts: {', '.join(sorted(alerts)) or 0}\n"
    )


if __name__ == "__main__":
    main()
