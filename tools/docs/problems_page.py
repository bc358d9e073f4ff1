"""The page about problems, docs/problems.md, made from their registry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
critical problem. The remedy is in italics. Words in capitals stand for values: *SUBJECT* is the name of the site.

The brackets have the severity, how long a cause lasts before the alert, and the longest time for which Prometheus goes
on with the alert after its cause. `crawl-tasks alerts` takes a quarter of an hour there.
"""

_TRIALS = """\
## Trials

- `python -m tests.watched` lets 54 forums fall ill and get well again, asks each place, and types the remedies.
  [Its table](../tests/watched/table.md) says how soon each problem is reported, and how soon it ends.
- `python -m tests.watched.installations` does the same with 35 [installations](../tests/watched/installations.md).
- `python -m tests.watched.quiet_day` makes the scrapes of 24 hours from a healthy crawl with restarts, slow answers and
  a pause, and lets `promtool` judge all rules. On 2026-11-30 no alert fired with looks 3 s apart.
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
    return "\n".join([_PAGE_HEAD, *lines, _TRIALS])


def _end(rule: AlertRule) -> str:
    """Return the time from the end of a cause to the end of its alert, by the longest range of the rule."""
    spans = [int(number) * _MINUTES[unit] for number, unit in re.findall(r"\[(\d+)([mh])\]", rule.expression)]
    return f"{max(spans)}m" if spans else "0m"


def _section(title: str, sentence: str, kinds: Iterable[Kind]) -> Iterator[str]:
    yield f"## {title}\n\n{sentence}\n"
    for kind in kinds:
        values = {name: f"*{name.upper()}*" for name in {*kind.fields(), "subject"}}
        problem = kind.problem(**values)
        terms = [kind.severity.value]
        if kind.rule is not None:
            terms += [kind.rule.hold or "0m", _end(kind.rule)]
        yield f"- `{kind.name}` ({', '.join(terms)}): {problem.text}; *{problem.remedy}*"
    yield ""
