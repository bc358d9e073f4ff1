"""Traces: one of each visit of a thread, from the list that showed it to its rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.monitor.traces import Traces
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.store_task import OutboxConsumer
from tests.flow.world import ROOT
from tests.frontier.small_crawl import SmallCrawl
from tests.frontier.test_rebuild import one_thread

STEPS = {"wait for the slot", "fetch", "parse", "commit"}


def traced(crawl: SmallCrawl, folder: Path) -> list[ReadableSpan]:
    """Crawl what is there with all spans kept, by a fetching worker and a store worker; return the spans."""
    fetching, storing = InMemorySpanExporter(), InMemorySpanExporter()
    pages, stores = Traces(fetching), Traces(storing)
    sites = SiteRegistry(crawl.frontier, None)
    crawl.pages = PageTask(crawl.frontier, sites, Fetcher(build_client("requests")), traces=pages)
    crawl.scan()
    with Store(f"sqlite:///{folder}/crawl.db") as store:
        OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1, traces=stores).run()
    pages.close()
    stores.close()
    return [*fetching.get_finished_spans(), *storing.get_finished_spans()]


def name_of(span: ReadableSpan) -> str:
    return f"{span.name} {(span.attributes or {}).get('crawl.page', '')}".strip()


def ids_of(span: ReadableSpan) -> tuple[int, int]:
    assert span.context is not None
    return span.context.trace_id, span.context.span_id


@pytest.fixture
def spans(crawl: SmallCrawl, tmp_path: Path) -> list[ReadableSpan]:
    crawl.publish()
    one_thread(crawl, 5, "c0 a", "c1 b", "c2 c", "c3 d", "c4 e")
    return traced(crawl, tmp_path)


def test_a_thread_is_one_trace_from_the_list_that_showed_it_to_its_rows(spans: list[ReadableSpan]) -> None:
    [admitted] = [span for span in spans if span.name == "admit"]
    trace = ids_of(admitted)[0]

    own = [span for span in spans if ids_of(span)[0] == trace]

    names = sorted(name_of(span) for span in own if span.name not in STEPS)
    pages = ["fetch comment 2", "fetch comment 3", "fetch post 1"]
    assert names == ["admit", *pages, "store", "store", "store"]
    assert admitted.parent is None
    assert {span.parent.span_id for span in own if span.parent and span.name not in STEPS} == {ids_of(admitted)[1]}
    assert (admitted.attributes or {})["crawl.board"] == "1"
    assert sum(int((span.attributes or {}).get("crawl.comments", 0)) for span in own) == 5


def test_a_page_has_its_steps_one_behind_the_other(spans: list[ReadableSpan]) -> None:
    [post] = [span for span in spans if span.name == "fetch post"]
    steps = [span for span in spans if span.parent and span.parent.span_id == ids_of(post)[1]]

    assert [span.name for span in steps] == ["wait for the slot", "fetch", "parse", "commit"]
    assert [one.end_time for one in steps[:-1]] == [one.start_time for one in steps[1:]]
    assert (post.attributes or {})["http.response.status_code"] == 200
    assert len({ids_of(span) for span in spans}) == len(spans)


def test_the_scan_of_a_board_is_a_trace_of_its_own(spans: list[ReadableSpan]) -> None:
    [board] = [span for span in spans if span.name == "fetch list"]

    own = [span for span in spans if ids_of(span)[0] == ids_of(board)[0]]

    assert {span.name for span in own} == {"fetch list", "store"} | STEPS


def test_a_page_that_fails_says_why(crawl: SmallCrawl, tmp_path: Path) -> None:
    crawl.publish()
    one_thread(crawl, 0)
    crawl.forum.statuses["/post/10"] = 403

    [post] = [span for span in traced(crawl, tmp_path) if span.name == "fetch post"]

    assert post.status.status_code is StatusCode.ERROR
    assert "access_denied" in (post.status.description or "")


def test_a_worker_without_traces_imports_nothing_of_them() -> None:
    # redis-py imports OpenTelemetry by itself where it is installed.
    code = (
        "import sys, redis; before = set(sys.modules); from crawl_tasks.worker.runtime import runtime; r = runtime();"
        "r.page_task; r.store_task; print([one for one in set(sys.modules) - before if one.startswith('opentel')],"
        "'crawl_tasks.monitor.traces' in sys.modules)"
    )

    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)

    assert ended.stdout == "[] False\n"
