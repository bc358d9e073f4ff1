"""Four forums at once, watched by everything that watches; the watchers and beat are killed in mid-crawl."""

from __future__ import annotations

import json
import re
import shutil
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl_tasks.frontier.admin.alert_state import AlertState
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer, free_port
from crawl_tasks.model import Lease, Request, Stage, State
from crawl_tasks.monitor.alerts.notifier import Notifier
from crawl_tasks.monitor.alerts.receivers import read_receivers
from crawl_tasks.monitor.cell_snapshots import Snapshots
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.schema import Site
from tests.alerts.receiver import Inbox, open_inbox
from tests.flow.four_sites import FORUMS, PAUSED_AFTER, FourSites, site_at
from tests.flow.judge import differences
from tests.flow.views import Numbers, beneath, of_exposition, of_json, of_query
from tests.flow.world import CELERY, ROOT, World
from tests.waiting import PATIENCE_S, eventually

pytestmark = pytest.mark.flow

PROMETHEUS = shutil.which("prometheus")
COMMAND = [sys.executable, "-m", "crawl_tasks"]
HOUR_MS = 3_600_000
OURS = '{__name__=~"crawl_.+"}'


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def answers(url: str) -> bool:
    try:
        return bool(get(url))
    except OSError:
        return False


class Watched:
    """The four sites' crawl, and where each watcher answers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.exporter, self.flower, self.prometheus = (f"http://127.0.0.1:{free_port()}" for _ in range(3))
        self.start_exporter()
        world.start("flower", *CELERY, "flower", "--address=127.0.0.1", f"--port={self.flower.rpartition(':')[2]}")
        if PROMETHEUS is not None:
            self.start_prometheus(PROMETHEUS)
        self.four = FourSites(world)

    def start_exporter(self) -> None:
        self.world.start("exporter", *COMMAND, "exporter", "--listen", self.exporter.removeprefix("http://"))

    def start_prometheus(self, program: str) -> None:
        """Start the real server, with the alert rules that we ship; here they fire at once, not after minutes."""
        configuration = self.world.directory / "prometheus.json"  # JSON is YAML
        rules = (ROOT / "docker" / "prometheus" / "rules.yml").read_text("utf-8")
        hasty = self.world.directory / "rules.yml"
        hasty.write_text(re.sub(r"\bfor: \w+", "for: 1s", rules), "utf-8")
        scraped = {"job_name": "crawl", "static_configs": [{"targets": [self.exporter.removeprefix("http://")]}]}
        document = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(hasty)],
            "scrape_configs": [scraped],
        }
        configuration.write_text(json.dumps(document))
        options = [f"--config.file={configuration}", f"--storage.tsdb.path={self.world.directory / 'prometheus'}"]
        self.world.start("prometheus", program, *options, f"--web.listen-address={self.prometheus[7:]}")

    def crawl(self) -> None:
        """Crawl to the end; with a part of it done, kill beat and all watchers but Prometheus."""
        self.four.start_workers()
        eventually(lambda: answers(f"{self.flower}/healthcheck") and answers(f"{self.exporter}/healthz"))
        self.world.start("beat", *CELERY, "beat")
        self.four.pause_in_time()
        self.is_killed_in_mid_crawl = not self.four.is_over()
        for name in ("exporter", "flower", "beat"):
            self.world.kill(name)
        self.start_exporter()
        eventually(self.four.is_over, every_s=0.1)
        eventually(lambda: answers(f"{self.exporter}/healthz"))
        self.at_ms = self.world.frontier.clock_ms()

    def beneath(self, site: str) -> Numbers:
        return beneath(site, self.four.visits(site), self.world.directory / "crawl.db")

    def status(self, *options: str) -> str:
        name = f"status{'-'.join(options)}"
        (self.world.directory / f"{name}.log").unlink(missing_ok=True)
        return self.world.run(name, *COMMAND, "status", *options)

    def snapshot(self) -> dict[str, Any]:  # JSON of any shape
        """Return what the exporter says of a moment after the crawl."""
        found: dict[str, Any] = json.loads(get(f"{self.exporter}/api/snapshot"))
        while found["at_ms"] < self.at_ms:
            found = json.loads(get(f"{self.exporter}/api/snapshot"))
        return found

    def ask_prometheus(self, query: str) -> dict[str, Any]:  # JSON of any shape
        found: dict[str, Any] = json.loads(get(f"{self.prometheus}/api/v1/{query}"))
        return found

    def firing(self) -> set[tuple[str, str]]:
        """Name the alerts that fire in Prometheus, and the site or queue of each."""
        alerts = self.ask_prometheus("alerts")["data"]["alerts"]
        return {
            (alert["labels"]["alertname"], alert["labels"].get("site") or alert["labels"].get("queue", ""))
            for alert in alerts
            if alert["state"] == "firing"
        }

    def told(self, inbox: Inbox) -> set[tuple[str, str, str]]:
        """Look once as `crawl-tasks alerts` does, without its two minutes, and name what its message says."""
        frontier = self.world.frontier
        Notifier(
            Snapshots(frontier).look,
            AlertState(frontier.scripts),
            read_receivers(inbox.url),
            "crawl",
            HOUR_MS,
            hold_ms=0,
        ).look()
        return {
            (alert["change"], alert["name"], alert["subject"])
            for message in inbox.messages
            for alert in message["alerts"]
        }


TROUBLE = {("CrawlNoWorker", "list"), ("CrawlQuarantined", "ill")}


def fall_ill(world: World) -> None:
    """Stop the list workers; let a fifth site have a page that cannot be read, and boards that nobody scans."""
    for name in ("list1", "list2"):
        world.processes[name].terminate()
    for name in ("list1", "list2"):
        world.processes.pop(name).wait(timeout=PATIENCE_S)
    ill = site_at("ill", "http://127.0.0.1:9").model_dump(by_alias=True, exclude_defaults=True)
    publish_site(world.frontier, Site.model_validate(ill | {"breaker": {"after": 1}}), contact=None)
    for board in Inspector(world.frontier).boards("ill"):
        world.client.zadd("crawl:boards", {f"ill {board.board}": 1}, xx=True)  # as if beat were silent for long
    world.frontier.admit("ill", [Request("ill", Stage.LIST, "1", "http://127.0.0.1:9/list/1/1")])
    [rid] = (int(rid) for rid in world.client.zrange("crawl:s:ill:released:list", 0, -1))
    held = world.frontier.lease("ill", rid)
    assert isinstance(held, Lease)
    world.frontier.fail(held, Verdict(State.PARKED, "parse", "no rule fits", says_nothing=True))


def get_well(world: World) -> None:
    """Open the stage, pause the site as an operator would, start a list worker again."""
    world.frontier.kept_pages.reopen("ill", Stage.LIST)
    world.frontier.sites.pause("ill")
    world.worker("list1", "list")


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    directory: Path = tmp_path_factory.mktemp("four")
    server = RedisServer(directory / "redis")
    server.start()
    world = World(directory, server)
    try:
        crawl = Watched(world)
        crawl.crawl()
        yield crawl
        assert world.findings() == []
    finally:
        world.close()
        server.stop()


@pytest.mark.parametrize("site", ["healthy", "slow"])
def test_the_crawl_ends_the_same_though_exporter_flower_and_beat_were_killed(watched: Watched, site: str) -> None:
    four, database = watched.four, watched.world.directory / "crawl.db"

    assert watched.is_killed_in_mid_crawl
    assert differences(database, four.truth_file(site), site) == []
    assert {visit.fault for visit in four.visits(site)} == {""}
    assert len(four.visits(site)) == four.done(site)  # each page was asked for once


def test_the_sites_are_what_they_are_meant_to_be(watched: Watched) -> None:
    failing, paused = watched.beneath("failing"), watched.beneath("paused")

    assert min(failing.dead, failing.parked, failing.failures["server_error"], failing.failures["parse"]) > 5
    assert sum(paused.pages.values()) >= PAUSED_AFTER
    assert Inspector(watched.world.frontier).count_requests("paused").open > PAUSED_AFTER


@pytest.mark.parametrize("site", FORUMS)
def test_status_page_and_exporter_say_what_database_and_forums_say(watched: Watched, site: str) -> None:
    told = watched.snapshot()

    assert of_json(site, told) == watched.beneath(site)
    assert of_exposition(site, get(f"{watched.exporter}/metrics")) == watched.beneath(site)


@pytest.mark.parametrize("site", FORUMS)
def test_the_terminal_says_what_database_and_forums_say(watched: Watched, site: str) -> None:
    true, counts = watched.beneath(site), Inspector(watched.world.frontier).count_requests(site)
    told = watched.status(site, "--json")
    text = watched.status(site)

    assert of_json(site, json.loads(told)) == true
    assert f": {counts.open} open, {sum(true.pages.values())} done" in text
    assert f"{true.parked} parked, {true.dead} dead" in text


@pytest.mark.skipif(PROMETHEUS is None, reason="there is no prometheus; Debian: apt-get install prometheus")
@pytest.mark.parametrize("site", FORUMS)
def test_prometheus_says_what_database_and_forums_say(watched: Watched, site: str) -> None:
    newest = f"query?query={urllib.parse.quote('timestamp(crawl_outbox_pages)')}"
    scraped_at: list[str] = []

    def is_scraped() -> bool:
        rows = watched.ask_prometheus(newest)["data"]["result"]
        scraped_at[:] = [row["value"][1] for row in rows]
        return bool(rows) and float(scraped_at[0]) * 1000 > watched.at_ms + 2000  # a look is shared for 2 s

    eventually(is_scraped, every_s=0.1)
    # At that moment: a later scrape may have come to nothing.
    query = f"query?query={urllib.parse.quote(OURS)}&time={scraped_at[0]}"

    assert of_query(site, watched.ask_prometheus(query)) == watched.beneath(site)


@pytest.mark.skipif(PROMETHEUS is None, reason="there is no prometheus; Debian: apt-get install prometheus")
def test_prometheus_judges_every_alert_on_real_metrics(watched: Watched) -> None:
    def rules() -> list[dict[str, Any]]:
        groups = watched.ask_prometheus("rules")["data"]["groups"]
        return [rule for group in groups for rule in group["rules"]]

    eventually(lambda: all(rule["health"] != "unknown" for rule in rules()), every_s=0.1)

    assert len(rules()) > 10
    assert [rule["name"] for rule in rules() if rule["health"] != "ok"] == []


@pytest.mark.skipif(PROMETHEUS is None, reason="there is no prometheus; Debian: apt-get install prometheus")
def test_alerts_fire_on_the_real_thing_and_fall_silent_again(watched: Watched) -> None:
    """The last of this file: it stops workers."""
    with open_inbox() as inbox:
        before = watched.firing()

        fall_ill(watched.world)
        eventually(lambda: watched.firing() >= TROUBLE, every_s=0.2)
        begun = watched.told(inbox)
        get_well(watched.world)
        eventually(lambda: not watched.firing() & TROUBLE, every_s=0.2)
        ended = watched.told(inbox) - begun

    assert not before & TROUBLE
    assert {("begins", *alert) for alert in TROUBLE} <= begun
    assert ("begins", "CrawlSiteLate", "ill") not in begun  # it follows from both
    assert {("ended", *alert) for alert in TROUBLE} <= ended
