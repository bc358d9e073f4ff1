"""The archive of a crawl: each page that counts has its records there, and none counts without."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import redis

from crawl_tasks.fetch.archive_reader import ArchivePage, archive_files, read_archive
from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.fetch.web_archive import Archive
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.task_message import TaskMessage
from tests.frontier.by_hand import post, released
from tests.frontier.small_crawl import RULES, SmallCrawl
from tests.unit.test_fetch_web_archive import records

ARCHIVED = RULES.replace("robots: false", "robots: true\narchive: true")


def archiving(crawl: SmallCrawl, directory: Path, free_bytes: int = 0) -> Archive:
    archive = Archive(directory, file_bytes=1 << 30, file_s=3600, free_bytes=free_bytes)
    fetcher = Fetcher(build_client("requests"))
    crawl.pages = PageTask(crawl.frontier, SiteRegistry(crawl.frontier, None), fetcher, archive=archive)
    return archive


def archived(directory: Path) -> list[ArchivePage]:
    return [page for path in archive_files(directory, "demo") for page in read_archive(path)]


def test_each_committed_page_is_in_the_archive_once_robots_and_redirects_too(crawl: SmallCrawl, tmp_path: Path) -> None:
    archive = archiving(crawl, tmp_path)
    crawl.publish(rules=ARCHIVED)
    crawl.forum.board("1", 1, "1 1", "2 0", "3 0")
    crawl.forum.thread("1", "11 one")
    crawl.forum.moved["/post/2"] = "/p/2"
    crawl.forum.pages["/p/2"] = "<h1>moved</h1><div class=body>there</div>"

    crawl.scan()  # /post/3 is gone
    archive.close()

    [path] = archive_files(tmp_path, "demo")
    responses = [url.removeprefix(crawl.forum.url) for kind, url, _ in records(path) if kind == "response"]
    assert sorted(responses) == sorted(crawl.forum.asked) == [
        "/list/1/1", "/p/2", "/post/1", "/post/2", "/post/3", "/robots.txt",
    ]  # fmt: skip
    items = crawl.items()
    seen = [one.seen_at for page in items for one in (*page.posts[:1], *page.comments[:1])]
    tokens = Counter(page.page.seen_at for page in archived(tmp_path))
    assert {tokens[at] for at in seen} == {1}
    assert Inspector(crawl.frontier).count_requests("demo").done == len(archived(tmp_path)) == 4
    assert {page.lease.request.key: page.page.status for page in archived(tmp_path)} == {"1": 200, "2": 200, "3": 404}


def test_a_site_without_an_archive_writes_none(crawl: SmallCrawl, tmp_path: Path) -> None:
    archiving(crawl, tmp_path)
    crawl.publish()
    crawl.forum.board("1", 1, "1 0")

    crawl.scan()

    assert list(tmp_path.iterdir()) == []


def test_a_scan_that_met_no_change_is_archived_as_a_revisit(crawl: SmallCrawl, tmp_path: Path) -> None:
    archiving(crawl, tmp_path)
    crawl.publish(rules=ARCHIVED)
    crawl.forum.board("1", 1, "1 0")
    crawl.forum.thread("1")
    crawl.forum.etags["/list/1/1"] = '"same"'

    crawl.scan()
    crawl.scan()

    assert crawl.forum.asked_if == ["/list/1/1"]
    scans = [page.page for page in archived(tmp_path) if page.lease.request.stage is Stage.LIST]
    assert [(page.status, page.is_unchanged) for page in scans] == [(200, False), (304, True)]


@pytest.mark.parametrize("is_room_noticed", [True, False])
def test_on_a_full_disk_nothing_is_fetched_and_nothing_counts_without_its_record(
    crawl: SmallCrawl, client: redis.Redis, tmp_path: Path, is_room_noticed: bool
) -> None:
    # A file stands where the directory is to be: the write fails, with room on the disk.
    archiving(crawl, tmp_path, free_bytes=1 << 60 if is_room_noticed else 0)
    if not is_room_noticed:
        (tmp_path / "demo").write_text("")
    crawl.publish(rules=ARCHIVED)
    crawl.forum.thread("1")
    crawl.frontier.admit("demo", [post(1)._replace(address=f"{crawl.forum.url}/post/1")])
    [rid] = released(client)

    outcome = crawl.pages.handle(TaskMessage("demo", Stage.POST, rid=rid))

    counts = Inspector(crawl.frontier).count_requests("demo")
    assert outcome.outcome == "delayed"
    assert outcome.reason.startswith("archive: ")
    assert (counts.done, counts.delayed, crawl.frontier.outbox.size()) == (0, 1, 0)
    assert crawl.forum.asked == ([] if is_room_noticed else ["/robots.txt", "/post/1"])
