"""The page about problems, docs/problems.md, made from their registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from crawl_tasks.monitor.problems.installation_kinds import INSTALLATION_KINDS
from crawl_tasks.monitor.problems.kinds import AlertRule, Kind
from crawl_tasks.monitor.problems.ledger_kinds import DISAGREEMENT_KINDS, FLAW_KINDS
from crawl_tasks.monitor.problems.setup_kinds import SETUP_KINDS
from crawl_tasks.monitor.problems.site_kinds import SITE_KINDS

_MINUTES = {"m": 1, "h": 60}

_PAGE_HEAD = """\
# Problems

Each problem has a name, a severity, a text and a remedy. They stand in one registry, `crawl_tasks/monitor/problems`.
The commands `crawl-tasks check` and `crawl-tasks status`, the status page, the messages of `crawl-tasks alerts` and the
rules of Prometheus show selections of it. `make docs` makes this page and `docker/prometheus/rules.yml` from it.

`critical` means that work stands still or is lost: somebody should look now. `warning` means that somebody should look
today. `info` explains what is seen, and needs nobody. `crawl-tasks check` ends with 1 when it finds a warning or a
critical problem. Words in capitals stand for values: *SUBJECT* is the name of the site.

An alert lasts as long as its cause. `ends` is the longest time for which it goes on after it in Prometheus, and
`crawl-tasks alerts` takes a quarter of an hour there. `rules.test.yml` holds each for three hours, and the alert of a
site that is down for a day.
"""

_WATCHED = Path(__file__).parent / "watched"
_TRIAL_HEAD = """\
## States that were brought about

`python -m tests.watched` lets 54 forums fall ill and get well again, and asks each place. Here on two processors, with
scans every 2 to 3 s, on 2026-11-30. The machine had more than ten times the work that it can do. The rules of
Prometheus were 15 times as fast. A dash stands where nothing ends within the trial, or no rule exists. The commands of
all remedies were typed as they are printed: those that look before the state was mended, the others behind it.
"""
_INSTALLATIONS_HEAD = """\
`python -m tests.watched.installations` does the same with 35 whole installations, one after the other.
"""
_QUIET_DAY = """\
### A quiet day

`python -m tests.watched.quiet_day` crawls ten healthy forums by real processes, and reads the metrics of the exporter
again and again: by day, at night when nobody writes, and while

- answers take a second, or a forum answers 500 for some seconds,
- the worker is restarted or killed, or beat or the exporter is restarted,
- a site is paused and resumed.

From these looks it makes the scrapes of 24 hours, 30 s apart: a counter grows by what it grew, a gauge has the value
that it had. Each hour has one of the events, and three scrapes in a row that fail. `promtool` judges all rules each
minute. So the values are those of a crawl, and the day is made of them.

On 2026-11-30, with looks 3 s apart, no alert fired. In four hours made of looks 0.5 s apart, on two processors with
fifteen times the work that they can do, `CrawlSlotsLate` fired for two forums with a delay of 0.1 s. It says that the
machine has too much to do.
"""
_SECTIONS: tuple[tuple[str, str, Iterable[Kind]], ...] = (
    ("The whole installation", "Those with an alert have a rule for Prometheus, and `crawl-tasks alerts` sends them.",
     INSTALLATION_KINDS),
    ("One site", "They are judged of each site that is not paused.", SITE_KINDS),
    ("Installation", "`crawl-tasks check` looks at them from its own machine.", SETUP_KINDS),
    ("Guard, ledger, queues and database", "`crawl-tasks check --deep` holds them against each other.",
     FLAW_KINDS.values()),
    ("Lists and threads", "`crawl-tasks check --deep` compares them where nothing is open.", DISAGREEMENT_KINDS),
)  # fmt: skip


def problems_page() -> str:
    """Return the text of docs/problems.md."""
    lines = [line for section in _SECTIONS for line in _section(*section)]
    trial, installations = ((_WATCHED / name).read_text("utf-8") for name in ("table.md", "installations.md"))
    return "\n".join([_PAGE_HEAD, *lines, _TRIAL_HEAD, trial, _INSTALLATIONS_HEAD, installations, _QUIET_DAY])


def _end(rule: AlertRule | None) -> str:
    """Return the time from the end of a cause to the end of its alert, by the longest range of the rule."""
    if rule is None:
        return ""
    spans = [int(number) * _MINUTES[unit] for number, unit in re.findall(r"\[(\d+)([mh])\]", rule.expression)]
    return f"{max(spans)}m" if spans else "at once"


def _section(title: str, sentence: str, kinds: Iterable[Kind]) -> Iterator[str]:
    yield f"## {title}\n\n{sentence}\n"
    yield "| problem | severity | alert after | ends | meaning | remedy |\n|---|---|---|---|---|---|"
    for kind in kinds:
        values = {name: f"*{name.upper()}*" for name in {*kind.fields(), "subject"}}
        problem = kind.problem(**values)
        hold = "" if kind.rule is None else kind.rule.hold or "at once"
        cells = (f"`{kind.name}`", kind.severity.value, hold, _end(kind.rule), problem.text, problem.remedy)
        yield f"| {' | '.join(cells)} |"
    yield ""
