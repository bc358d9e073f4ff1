"""The registry of problems: each kind can be told, names a command that exists, and shows where it holds."""

from __future__ import annotations

import re
from dataclasses import replace

import click
import pytest
import redis

from crawl_tasks.cli.main import COMMANDS, cli
from crawl_tasks.frontier.admin.audit import Violation
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.request_counts import LATE_MS, ScanCounts
from crawl_tasks.model import Stage
from crawl_tasks.monitor.problems.installation_kinds import INSTALLATION_KINDS
from crawl_tasks.monitor.problems.kinds import Kind, Problem, Severity
from crawl_tasks.monitor.problems.ledger_kinds import DISAGREEMENT_KINDS, FLAW_KINDS
from crawl_tasks.monitor.problems.registry import ALERTS, KINDS, CurrentProblems, find_problems
from crawl_tasks.monitor.problems.setup_kinds import SETUP_KINDS
from crawl_tasks.monitor.problems.site_kinds import SITE_KINDS
from crawl_tasks.monitor.site_snapshot import SiteSnapshot
from crawl_tasks.monitor.snapshot import DownCell, Snapshot, take_snapshot
from crawl_tasks.queues import QUEUES
from tests.frontier.by_hand import TERMS
from tests.watched.remedies import commands_in

ALL = [*INSTALLATION_KINDS, *SITE_KINDS, *SETUP_KINDS, *FLAW_KINDS.values(), *DISAGREEMENT_KINDS]


@pytest.fixture
def now(client: redis.Redis) -> Snapshot:
    """One site, with nothing done, and workers for everything."""
    frontier = Frontier(client, "test")
    frontier.sites.publish("demo", "v1", "{}", TERMS, [])
    frontier.heartbeat("here:1", QUEUES)
    frontier.produce()
    return take_snapshot(frontier)


def with_site(now: Snapshot, **changes: object) -> tuple[SiteSnapshot, Snapshot]:
    [site] = now.sites
    boards = changes.pop("boards", site.boards)
    changed = replace(site, counts=replace(site.counts, **changes), boards=boards)  # type: ignore[arg-type]
    return changed, Snapshot((changed,), now.health)


def of_site(now: Snapshot, **changes: object) -> list[Problem]:
    site, snapshot = with_site(now, **changes)
    return CurrentProblems(snapshot).of(site)


# ---- The table -------------------------------------------------------------------------------------------------


def test_no_two_kinds_have_one_name() -> None:
    assert len(KINDS) == len(ALL)
    assert FLAW_KINDS.keys() == set(Violation)


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
def test_a_kind_says_what_is_wrong_and_what_to_do(kind: Kind) -> None:
    named = set(re.findall(r"crawl-tasks ([a-z]+)", f"{kind.text} {kind.remedy}"))

    assert re.fullmatch(r"(?:Crawl)(?:[A-Z][a-z]+)+", kind.name)
    assert kind.text
    assert kind.remedy
    assert named <= {*COMMANDS}


def typed_commands() -> list[tuple[str, ...]]:
    """Return each command that a remedy names, with the site `demo` for its subject."""
    found = set()
    for kind in KINDS.values():
        values = dict.fromkeys(kind.fields() - {"subject"}, "demo") | {
            "state": "parked",
            "board": "BOARD",
            "command": "",
        }
        remedy = kind.problem("demo", **values).remedy
        found |= {tuple(typed) for typed in commands_in(remedy, "demo")}
    return sorted(found)


@pytest.mark.parametrize("typed", typed_commands(), ids=" ".join)
def test_a_remedy_names_a_command_that_can_be_typed(typed: tuple[str, ...]) -> None:
    command: click.Command = cli
    rest = list(typed)
    while isinstance(command, click.Group):
        inner = command.get_command(click.Context(command), rest.pop(0))
        assert inner is not None, typed
        command = inner

    command.make_context("crawl-tasks", rest)  # a usage error if it is misunderstood


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind.rule], ids=lambda kind: kind.name)
def test_a_rule_fills_every_field_of_its_kind_and_no_other(kind: Kind) -> None:
    assert kind.rule is not None

    assert kind.rule.fields.keys() - {"count"} <= kind.fields()
    assert kind.fields() <= {*kind.rule.fields, "subject"}


def test_only_a_dead_exporter_has_a_rule_that_we_cannot_judge_ourselves() -> None:
    assert {kind.name for kind in ALL if kind.rule} - {kind.name for kind in ALERTS} == {"CrawlExporterDown"}


# ---- What holds now --------------------------------------------------------------------------------------------


def test_a_site_in_order_has_no_problem(now: Snapshot) -> None:
    assert find_problems(now) == []


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"boards": ScanCounts(total=9, late=2)}, ["2 of 9 boards are not scanned on time"]),
        (
            {"boards": ScanCounts(9, overdue=3, late=2), "delayed": 5, "admitted": 5, "fields": {"max_backlog": "5"}},
            [
                "5 requests are open, new scans are held back",
                "5 pages are to be tried again (reason unknown)",
            ],
        ),
        (
            {"parked": 4, "admitted": 4, "stats": {"parked:parse": 3, "parked:crash": 1}},
            ["4 pages are parked (parse)"],
        ),
        ({"dead": 1, "admitted": 1, "stats": {"dead:robots": 1}}, ["1 page is given up (robots)"]),
        (
            {"fields": {"slow": "6 0"}, "stats": {"capped:daily_new": 7}},
            [
                "asked 64 times more slowly, since the forum answers slowly or badly",
                "links were left out by daily_new 7",
            ],
        ),
        ({"fields": {"draining": "1"}, "boards": ScanCounts(total=9, late=2)}, ["draining, no new scan begins"]),
        ({"fields": {"paused": "1"}, "dead": 1, "admitted": 1, "boards": ScanCounts(total=9, late=2)}, ["paused"]),
        ({"opens_at_ms": 1 << 50, "boards": ScanCounts(total=9, late=2)}, ["rests for "]),
        (
            {"admitted": 1},
            [
                "the ledger does not balance: demo: admitted 1, but"
                " ready 0 + released 0 + leased 0 + delayed 0 + parked 0 + dead 0 + done 0 = 0"
            ],
        ),
    ],
)
def test_a_site_says_its_problems_the_gravest_first_and_causes_before_what_follows(
    now: Snapshot, changes: dict[str, object], texts: list[str]
) -> None:
    told = [problem.text for problem in of_site(now, **changes)]

    assert len(told) == len(texts)
    assert all(said.startswith(text) for said, text in zip(told, texts, strict=True)), told


def test_a_remedy_names_the_site(now: Snapshot) -> None:
    [problem] = of_site(now, fields={"paused": "1"})

    assert problem == Problem("CrawlPaused", Severity.INFO, "demo", "paused", "go on with crawl-tasks resume demo")


def test_a_site_is_told_of_the_worker_and_the_beat_that_it_lacks_and_of_no_other(now: Snapshot) -> None:
    [site] = now.sites
    stages = {**site.counts.stages, Stage.POST: replace(site.counts.stages[Stage.POST], ready=7)}
    waiting, _ = with_site(now, stages=stages, admitted=7)
    late, _ = with_site(now, boards=ScanCounts(total=1, late=1))
    alone = CurrentProblems(Snapshot((waiting,), replace(now.health, processes=())))
    silent = CurrentProblems(Snapshot((late,), replace(now.health, produced_at_ms=now.at_ms - 2 * LATE_MS)))

    assert [problem.advice("demo") for problem in alone.of(waiting)] == [
        "post: no worker serves this queue; start one: celery -A crawl_tasks worker -Q post"
    ]
    assert [problem.subject for problem in alone.installation] == list(QUEUES)
    assert [problem.key for problem in silent.of(late)] == ["CrawlBeatSilent"]
    assert alone.beside_processes == silent.beside_processes == []


def test_an_installation_without_a_site_says_how_to_get_one(now: Snapshot) -> None:
    assert [problem.name for problem in find_problems(replace(now, sites=()))] == ["CrawlNoSite"]
    down = replace(now, sites=(), down=(DownCell("b", "refused"),))
    assert [problem.name for problem in find_problems(down)] == ["CrawlCellDown"]
