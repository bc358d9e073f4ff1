"""The alert rules of Prometheus and the inhibit rules of Alertmanager, made from the registry of problems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.inhibition import OF_INSTALLATION, OF_SITE
from crawl_tasks.monitor.problems.installation_kinds import INSTALLATION_KINDS
from crawl_tasks.monitor.problems.kinds import AlertRule, Kind
from crawl_tasks.monitor.problems.site_kinds import SITE_KINDS

_RULES_HEAD = """\
# When somebody should look. Every alert says what to do; rules.test.yml shows each begin and end.
# Made by `make docs` from crawl_tasks/monitor/problems. Change the numbers to what your forums deserve, then:
# promtool check rules rules.yml && promtool test rules rules.test.yml
groups:
"""

_INHIBIT_HEAD = """\
# What follows from a named cause is not told beside it, as in every other place. For Alertmanager's configuration.
# Made by `make docs` from crawl_tasks/monitor/problems/inhibition.py.
inhibit_rules:
"""


def rules_file() -> str:
    """Return the text of docker/prometheus/rules.yml."""
    groups = (("sites", SITE_KINDS), ("installation", INSTALLATION_KINDS))
    return _RULES_HEAD + "\n".join("\n".join(_group(name, kinds)) for name, kinds in groups)


def inhibit_rules_file() -> str:
    """Return the text of docker/prometheus/inhibit_rules.yml."""
    rules = [*_inhibit_rules(OF_SITE, "[site]"), *_inhibit_rules(OF_INSTALLATION, "[]")]
    return _INHIBIT_HEAD + "\n".join(rules) + "\n"


def _inhibit_rules(consequences: Mapping[str, frozenset[str]], equal: str) -> Iterator[str]:
    alerts = {kind.name for kind in (*INSTALLATION_KINDS, *SITE_KINDS) if kind.rule}
    for cause, names in consequences.items():
        name, _, queue = cause.partition(" ")
        if name in alerts and (implied := sorted(names & alerts)):
            of_queue = f", 'queue=\"{queue}\"'" if queue else ""
            yield (
                f"  - source_matchers: ['alertname=\"{name}\"'{of_queue}]\n"
                f"    target_matchers: ['alertname=~\"{'|'.join(implied)}\"']\n    equal: {equal}"
            )


def _group(name: str, kinds: Iterable[Kind]) -> Iterator[str]:
    yield f"  - name: {name}\n    rules:"
    for kind in kinds:
        if kind.rule:
            yield _alert(kind, kind.rule)


def _alert(kind: Kind, rule: AlertRule) -> str:
    subject = f"{{{{ $labels.{kind.scope} }}}}" if kind.scope else ""
    problem = kind.problem(subject, **{name: gettext(text) for name, text in rule.fields.items()})
    expression = rule.expression.replace("\n", "\n          ")
    lines = [
        f"      - alert: {kind.name}",
        f"        expr: >-\n          {expression}",
        *([f"        for: {rule.hold}"] if rule.hold else []),
        f"        labels: {{severity: {kind.severity.value}}}",
        "        annotations:",
        # A JSON string is a valid YAML string, and needs no rules of quoting of our own.
        f"          summary: {json.dumps(problem.summary, ensure_ascii=False)}",
        f"          remedy: {json.dumps(problem.remedy, ensure_ascii=False)}\n",
    ]
    return "\n".join(lines)
