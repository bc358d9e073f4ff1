"""Alert rules and dashboard: Prometheus' own tool passes them, and every name in them is one of the exporter's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import redis

from crawl_tasks.errors import PageError
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.problems.kinds import Severity
from crawl_tasks.monitor.problems.registry import KINDS
from crawl_tasks.monitor.snapshot import take_snapshot
from crawl_tasks.web.exposition import MetricKind, Writer
from crawl_tasks.web.metrics import FAMILIES
from tests.frontier.by_hand import TERMS
from tests.unit.docker_files import DOCKER, Said, broken, read_services, read_yaml, run

PROMETHEUS = DOCKER / "prometheus"
RULES = PROMETHEUS / "rules.yml"
RULE_TESTS = PROMETHEUS / "rules.test.yml"
DASHBOARD = DOCKER / "grafana" / "dashboards" / "crawl.json"
DATASOURCE = DOCKER / "grafana" / "provisioning" / "datasources" / "prometheus.yml"

SUFFIXES = {MetricKind.HISTOGRAM: ("_bucket", "_sum", "_count")}
LABELS = {
    f"{family.name}{suffix}": {*family.labels, *({"le"} if suffix == "_bucket" else ())}
    for family in FAMILIES
    for suffix in SUFFIXES.get(family.kind, ("",))
}


def rules() -> list[dict[str, Any]]:  # YAML of any shape
    (document,) = read_yaml(RULES.read_text("utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def dashboard_expressions() -> list[str]:
    panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", [])]


def strange_names(expression: str) -> set[str]:
    """Name what the exporter does not have: metrics, and labels selected of a metric that has none such."""
    strange = set(re.findall(r"\b(?:crawl|collector)_\w+", expression)) - set(LABELS)
    for name, selector in re.findall(r"\b(crawl_\w+)\{([^}]*)\}", expression):
        strange |= set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", selector)) - LABELS.get(name, set())
    return strange


def test_promtool_accepts_configuration_and_rules() -> None:
    said = run("promtool", "check", "config", "prometheus.yml", cwd=PROMETHEUS)

    assert said.code == 0, said.text


def run_tests(document: dict[str, Any], directory: Path) -> Said:
    """Run the tests of rules. Of one file promtool would judge all rules in every test, which takes minutes."""
    names = [rule["alert"] for rule in rules()]
    for rule in rules():
        name, groups = rule["alert"], [{"name": "one", "rules": [rule]}]
        tests = [test for test in document["tests"] if test["name"] == name]
        (directory / f"{name}.yml").write_text(json.dumps({"groups": groups}), "utf-8")
        text = json.dumps({**document, "rule_files": [f"{name}.yml"], "tests": tests})
        (directory / f"{name}.test.yml").write_text(text, "utf-8")
    return run("promtool", "test", "rules", *(f"{name}.test.yml" for name in names), cwd=directory)


def test_every_alert_fires_and_falls_silent_again(tmp_path: Path) -> None:
    (document,) = read_yaml(RULE_TESTS.read_text("utf-8"))

    said = run_tests(document, tmp_path)

    assert said.code == 0, said.text


def of_two_exporters(series: dict[str, str]) -> list[dict[str, str]]:
    """Return the same samples as two exporters of one Redis give them."""
    name, brace, labels = series["series"].partition("{")
    rest = f",{labels}" if brace else "}"
    return [{**series, "series": f'{name}{{instance="{instance}"{rest}'} for instance in ("one:9817", "two:9817")]


def test_every_alert_says_the_same_with_two_exporters(tmp_path: Path) -> None:
    (document,) = read_yaml(RULE_TESTS.read_text("utf-8"))
    for test in document["tests"]:
        # The rule of a dead exporter is about the exporters themselves.
        of_exporters = [series for series in test["input_series"] if series["series"].startswith("up{")]
        others = [series for series in test["input_series"] if series not in of_exporters and "instance=" not in series]
        test["input_series"] = [*of_exporters, *(twin for series in others for twin in of_two_exporters(series))]

    said = run_tests(document, tmp_path)

    assert said.code == 0, said.text


def test_every_problem_that_a_crawl_may_have_is_an_alert() -> None:
    # A machine is examined by the command that runs there, and an installation without a site has nothing to lose.
    beside = {"CrawlNoSite"}
    conditions = {kind.name for kind in KINDS.values() if kind.condition and kind.severity is not Severity.INFO}

    assert conditions - {rule["alert"] for rule in rules()} == beside


def test_a_broken_rule_does_not_pass(tmp_path: Path) -> None:
    (document,) = read_yaml(RULE_TESTS.read_text("utf-8"))
    document["tests"] = [test for test in document["tests"] if test["name"] == "CrawlBeatSilent"]
    (tmp_path / RULE_TESTS.name).write_text(json.dumps(document), "utf-8")
    broken(tmp_path, RULES, "(crawl_beat_alive) == 0", "(crawl_beat_alive) == 2")

    said = run("promtool", "test", "rules", RULE_TESTS.name, cwd=tmp_path)

    assert said.code != 0
    assert "CrawlBeatSilent" in said.text


def test_every_alert_has_a_test_of_its_beginning_and_its_end() -> None:
    (document,) = read_yaml(RULE_TESTS.read_text("utf-8"))

    for test in document["tests"]:
        [before, *during, after] = [bool(moment["exp_alerts"]) for moment in test["alert_rule_test"]]
        assert {moment["alertname"] for moment in test["alert_rule_test"]} == {test["name"]}
        assert (before, {*during}, after) == (False, {True}, False)
    assert list(dict.fromkeys(test["name"] for test in document["tests"])) == [rule["alert"] for rule in rules()]


def test_every_alert_says_what_to_do_and_how_grave_it_is() -> None:
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "remedy"}
        assert rule["labels"]["severity"] in {"warning", "critical"}


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_an_alert_asks_for_what_the_exporter_has(rule: dict[str, Any]) -> None:
    assert not strange_names(rule["expr"])
    assert set(re.findall(r'reason="(\w+)"', rule["expr"])) <= reasons(PageError)


def test_a_rule_asks_for_nothing_that_the_exporter_gives_only_later(client: redis.Redis) -> None:
    frontier = Frontier(client, "test")
    frontier.sites.publish("fresh", "v1", "{}", TERMS, [])
    text = Writer(FAMILIES).write(take_snapshot(frontier))

    wanted = {
        (metric, label, value)
        for rule in rules()
        for metric, selector in re.findall(r"\b(crawl_\w+)\{([^}]*)\}", rule["expr"])
        for label, values in re.findall(r"(\w+)=~?\"([^\"]*)\"", selector)
        for value in values.split("|")
    }

    assert len(wanted) > 5
    assert not {one for one in wanted if not re.search(r'^{}\{{[^}}]*{}="{}"'.format(*one), text, re.MULTILINE)}


def reasons(error: type[PageError]) -> set[str]:
    return {error.reason}.union(*(reasons(child) for child in error.__subclasses__()))


def test_the_dashboard_asks_for_what_the_exporter_has() -> None:
    expressions = dashboard_expressions()

    assert len(expressions) > 20
    assert set().union(*map(strange_names, expressions)) == set()


def test_a_name_that_the_exporter_does_not_have_is_found() -> None:
    assert strange_names("sum(crawl_pages_totals)") == {"crawl_pages_totals"}
    assert strange_names('crawl_boards{status="late"}') == {"status"}


def test_promtool_understands_every_expression_of_the_dashboard(tmp_path: Path) -> None:
    expressions = [expression.replace("$site", ".*") for expression in dashboard_expressions()]

    assert check_expressions(tmp_path, expressions).code == 0
    assert check_expressions(tmp_path, ["sum(rate(crawl_pages_total[5m])"]).code != 0


def check_expressions(directory: Path, expressions: list[str]) -> Said:
    named = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions)]
    path = directory / "panels.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": named}]}), "utf-8")
    return run("promtool", "check", "rules", path)


def test_the_panels_of_the_dashboard_stand_side_by_side() -> None:
    dashboard = json.loads(DASHBOARD.read_text("utf-8"))
    places: set[tuple[int, int]] = set()

    for panel in dashboard["panels"]:
        grid = panel["gridPos"]
        cells = {(grid["x"] + dx, grid["y"] + dy) for dx in range(grid["w"]) for dy in range(grid["h"])}
        assert not cells & places
        assert grid["x"] + grid["w"] <= 24
        places |= cells
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(identifiers)) == len(identifiers)


def test_grafana_and_prometheus_find_what_they_ask_for() -> None:
    services = read_services()
    (provisioned,) = read_yaml(DATASOURCE.read_text("utf-8"))
    (scraping,) = read_yaml((PROMETHEUS / "prometheus.yml").read_text("utf-8"))
    mounted = {mount["target"]: Path(mount["source"]) for mount in services["grafana"]["volumes"]}
    home = Path(services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])

    (target,) = scraping["scrape_configs"][0]["static_configs"][0]["targets"]

    assert provisioned["datasources"][0]["url"] == "http://prometheus:9090"
    assert target.split(":")[0] in services
    assert services["exporter"]["command"][-1].endswith(target.removeprefix("exporter"))
    assert (mounted[str(home.parent)] / home.name) == DASHBOARD
    watching = [set(services[name]["networks"]) for name in ("grafana", "prometheus", "exporter")]
    assert set.intersection(*watching) == {"watch"}
