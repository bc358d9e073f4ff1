"""The alert rules of Prometheus, docker/prometheus/rules.yml, made from the registry of problems."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.installation_kinds import INSTALLATION_KINDS
from crawl_tasks.monitor.problems.kinds import AlertRule, Kind
from crawl_tasks.monitor.problems.site_kinds import SITE_KINDS

_RULES_HEAD = """\
# When somebody should look. Every alert says what to do; rules.test.yml shows each begin and end.
# Made by `make docs` from crawl_tasks/monitor/problems. Change the numbers to what your forums deserve, then:
# promtool check rules rules.yml && promtool test rules rules.test.yml
groups:
"""


def rules_file() -> str:
    """Return the text of docker/prometheus/rules.yml."""
    groups = (("sites", SITE_KINDS), ("installation", INSTALLATION_KINDS))
    return _RULES_HEAD + "\n".join("\n".join(_group(name, kinds)) for name, kinds in groups)


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
