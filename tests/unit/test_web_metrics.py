"""The exporter: what Prometheus reads of a real ledger, and the reference that operators write rules on."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from prometheus_client.parser import text_string_to_metric_families

from crawl_tasks.cli.exits import Exit
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.retry import Verdict
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.model import Effort, Items, Lease, Parsed, Request, Stage, State
from crawl_tasks.monitor.snapshot import Snapshot, take_snapshot
from crawl_tasks.registry.site_publisher import publish_site
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.exposition import Writer, labels
from crawl_tasks.web.login import Login
from crawl_tasks.web.metrics import FAMILIES
from crawl_tasks.web.server import ExporterServer
from crawl_tasks.web.snapshot_cache import SnapshotCache
from tests.serving import NO_DATABASE, serving
from tests.unit.command_line import run, site_text
from tests.waiting import PATIENCE_S


@pytest.fixture
def frontier(client: redis.Redis) -> Frontier:
    frontier = Frontier(client, "test")
    publish_site(frontier, parse_site(site_text(), "tiny.yaml"), None)
    frontier.produce()
    held = frontier.lease("tiny", 1)
    assert isinstance(held, Lease)
    child = Request("tiny", Stage.POST, "7", "http://127.0.0.1:8765/post/7")
    frontier.commit(
        held, Parsed(Items("tiny"), (child,), dropped=(("pattern", 2),)), effort=Effort(200, 500, 900, 30, 2)
    )
    frontier.heartbeat("here:1", ["list"])
    return frontier


def samples(text: str) -> dict[str, float]:
    """Read an exposition as Prometheus' own client does: name and sorted labels -> value."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_prometheus_reads_what_the_ledger_holds(frontier: Frontier) -> None:
    read = samples(Writer(FAMILIES).write(take_snapshot(frontier)))

    site = ("site", "tiny")
    assert read[f"crawl_pages_total{[('outcome', 'ok'), site, ('stage', 'list')]}"] == 1
    assert read[f"crawl_requests{[site, ('state', 'released')]}"] == 2
    assert read[f"crawl_items_dropped_total{[('reason', 'pattern'), site]}"] == 2
    assert read[f"crawl_responses_total{[site, ('status', '200')]}"] == 1
    assert read[f"crawl_fetch_seconds_bucket{[('le', '0.025'), ('stage', 'list')]}"] == 0
    assert read[f"crawl_fetch_seconds_bucket{[('le', '0.05'), ('stage', 'list')]}"] == 1
    assert read[f"crawl_fetch_seconds_sum{[('stage', 'list')]}"] == 0.03
    assert read[f"crawl_workers{[('queue', 'list')]}"] == 1
    assert read["crawl_beat_alive[]"] == 1
    spider = [("service", "crawl_tasks"), ("spider", "tiny")]
    assert read[f"collector_downloader_response_bytes{spider}"] == 500
    assert read[f"collector_downloader_response_status_count{[*spider, ('status_code', '200')]}"] == 1
    assert read[f"collector_dupefilter_size{spider}"] == 1


def test_every_name_of_the_older_collector_has_its_number(frontier: Frontier) -> None:
    frontier.admit("tiny", [Request("tiny", Stage.POST, f"{n}", f"http://127.0.0.1:8765/post/{n}") for n in range(9)])
    frontier.client.zadd("test:due", {"tiny": 0})
    frontier.tick("me")
    rids = frontier.client.zrange("test:s:tiny:released:post", 0, -1)
    failing = next(lease for rid in rids if isinstance(lease := frontier.lease("tiny", int(rid)), Lease))
    frontier.fail(failing, Verdict(State.DELAYED, "server_error", "x", delay_ms=60_000), Effort(503, 100, 0, 9, 0))
    gains = {"post:new": 2, "comment:filled": 3, "comment:changed": 5, "comment:unchanged": 7, "comment:restored": 4}
    frontier.outbox.ack({"tiny": [page for page, _ in frontier.outbox.draw("me", 9).pages]}, {"tiny": gains})
    counts = Inspector(frontier).count_requests("tiny")
    read = samples(Writer(FAMILIES).write(take_snapshot(frontier)))
    spider = [("service", "crawl_tasks"), ("spider", "tiny")]

    numbers = {name.removesuffix(str(spider)): value for name, value in read.items() if name.endswith(str(spider))}

    assert counts.ready > 0
    assert counts.delayed == 1
    assert {name.removeprefix("collector_"): value for name, value in numbers.items()} == {
        "task_queue_size": counts.released,
        "request_queue_size": counts.ready + 1,
        "dupefilter_size": 9,
        "downloader_request_count": 2,
        "downloader_response_count": 2,
        "downloader_response_bytes": 600,
        # Those restored are counted among those changed already.
        "scraped_item_count": 2 + 3 + 5 + 7,
    }


def test_every_family_is_read_and_named_by_the_conventions(frontier: Frontier) -> None:
    families = {family.name: family for family in FAMILIES}

    assert len(families) == len(FAMILIES)
    assert [f.name for f in FAMILIES if [f.read, f.each, f.rows, f.histogram, f.histograms].count(None) != 4] == []
    ours = [family for family in FAMILIES if family.name.startswith("crawl_")]
    assert [f.name for f in ours if (f.kind == "counter") != f.name.endswith("_total")] == []


def test_only_the_labels_of_the_reference_are_written(frontier: Frontier) -> None:
    text = Writer(FAMILIES).write(take_snapshot(frontier))
    documented = {family.name: set(family.labels) for family in FAMILIES}

    for line in text.splitlines():
        if not line.startswith("#"):
            name = re.sub(r"_(bucket|sum|count)$", "", line.split("{")[0].split(" ")[0])
            name = name if name in documented else line.split("{")[0]
            assert set(re.findall(r'(\w+)="', line)) - {"le"} == documented[name], line


def test_a_label_with_quotes_and_line_breaks_stays_one_label() -> None:
    [family] = text_string_to_metric_families("x{" + labels(a='b"\\\n') + "} 1\n")

    assert family.samples[0].labels == {"a": 'b"\\\n'}


# -- the server ------------------------------------------------------------------------------------------------


@pytest.fixture
def base(frontier: Frontier) -> Iterator[str]:
    look = SnapshotCache(lambda: take_snapshot(frontier))
    with serving(ExporterServer(("127.0.0.1", 0), look, Actions(Cells([frontier]), NO_DATABASE), Login(""))) as url:
        yield url


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        text: str = answer.read().decode()
    return text


def test_the_exporter_serves_metrics_json_and_health(base: str) -> None:
    assert "crawl_pages_total" in get(f"{base}/metrics")
    assert json.loads(get(f"{base}/api/snapshot"))["sites"][0]["site"] == "tiny"
    assert get(f"{base}/healthz") == "ok\n"
    with pytest.raises(urllib.error.HTTPError, match="404") as refused:
        get(f"{base}/nothing")
    refused.value.close()


def test_many_who_ask_at_once_share_one_look(frontier: Frontier) -> None:
    taken: list[Snapshot] = []

    def take() -> Snapshot:
        taken.append(take_snapshot(frontier))
        return taken[-1]

    look = SnapshotCache(take, fresh_s=60)

    assert [look.now() for _ in range(5)] == [taken[0]] * 5
    assert len(taken) == 1


def test_an_address_that_is_taken_is_said_in_a_line(base: str, redis_server: RedisServer, tmp_path: Path) -> None:
    url = redis_server.url

    result = run("exporter", "--listen", base.removeprefix("http://"), home=tmp_path, redis_url=url)

    assert (result.exit_code, "choose another port" in result.output) == (2, True)


def test_the_exporter_runs_until_it_is_told_to_end(
    frontier: Frontier, redis_server: RedisServer, tmp_path: Path
) -> None:
    environment = os.environ | {"CRAWL_REDIS_URL": redis_server.url, "CRAWL_REDIS_PREFIX": "test"}
    command = [sys.executable, "-m", "crawl_tasks", "exporter", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        command, env=environment | {"CRAWL_STATE_DIR": str(tmp_path)}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        base = process.stdout.readline().split(";")[0].rstrip("/")

        shown = get(f"{base}/"), get(f"{base}/metrics")
        process.terminate()

        assert process.wait(timeout=PATIENCE_S) == Exit.TERMINATED
    assert ("/site/tiny" in shown[0], "crawl_pages_total" in shown[1]) == (True, True)
    assert Inspector(frontier).count_requests("tiny").is_balanced
