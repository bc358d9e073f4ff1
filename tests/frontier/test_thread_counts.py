"""Threads of which fewer replies were read than their lists count are counted and named by the running crawl."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from sqlalchemy import select

from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.frontier.sites import MOST_SHORT
from crawl_tasks.frontier.wire.limits import SHORT_IN_A_ROW
from crawl_tasks.model import Items, Operator, Post, Request, Stage
from crawl_tasks.model.reply_counts import CountRules
from crawl_tasks.monitor.problems.registry import find_problems
from crawl_tasks.monitor.snapshot import Stored, take_snapshot
from crawl_tasks.operate.crawl import Start
from crawl_tasks.operate.summary import problems_of
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.store.tables import comments
from crawl_tasks.store.thread_counts import ThreadCount
from crawl_tasks.store.upsert import Store
from crawl_tasks.worker import thread_watch
from crawl_tasks.worker.store_task import OutboxConsumer
from crawl_tasks.worker.thread_watch import SETTLES_S, ThreadWatch
from tests.frontier.small_crawl import RULES, SmallCrawl


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"sqlite:///{tmp_path}/crawl.db").open()


def told(frontier: Frontier) -> str:
    """Return the problem of short threads that `check`, `status` and the alerts show, empty without one."""
    problems = [one for one in find_problems(take_snapshot(frontier)) if one.name == "CrawlThreadsShort"]
    return problems[0].text if problems else ""


class Storing:
    """A store worker whose clock the test sets."""

    def __init__(self, crawl: SmallCrawl, store: Store) -> None:
        self.now = 0.0
        self._crawl = crawl
        self._worker = OutboxConsumer(crawl.frontier, lambda: store, batch=100, worth=1, clock=lambda: self.now)

    def scan(self) -> str:
        """Scan the boards, store what was read, let the threads settle, and return what is told."""
        self._crawl.scan()
        self._crawl.try_again()
        self._worker.run()
        self.now += SETTLES_S
        self._worker.run()
        return told(self._crawl.frontier)

    def scan_at(self, now: float) -> None:
        """Scan the boards and store what was read at a moment."""
        self._crawl.scan()
        self.now = now
        self._worker.run()


def replies(post: str, count: int) -> list[str]:
    return [f"{post}{turn:02} reply {turn}" for turn in range(count)]


def test_a_thread_that_is_not_read_whole_is_named_until_it_is(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 27", "2 8", "3 2", "4 12")
    for post, count in (("1", 9), ("2", 8), ("3", 0), ("4", 10)):
        crawl.forum.thread(post, *replies(post, count))
    worker = Storing(crawl, store)

    first = worker.scan()
    crawl.forum.board("1", 1, "1 28", "2 8", "3 2", "4 12")
    crawl.forum.thread("1", *replies("1", 28))
    mended = worker.scan()

    assert first == (f"1 thread has fewer replies than its list counts: {crawl.forum.url}/post/1 (27 listed, 9 stored)")
    assert mended == ""


def test_a_thread_that_lacks_replies_of_its_list_is_asked_for_once_more(crawl: SmallCrawl) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 8", "2 8")
    crawl.forum.thread("1", *replies("1", 3))
    crawl.forum.thread("2", *replies("2", 7))
    crawl.scan()
    crawl.forum.thread("1", *replies("1", 8))

    again = crawl.try_again()

    assert again == ["/post/1"]
    assert sum(len(page.comments) for page in crawl.items()) == 15
    assert crawl.scan() == ["/list/1/1"]


def test_a_thread_that_stays_short_is_stored_and_asked_for_when_it_is_listed_again(crawl: SmallCrawl) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 8")
    crawl.forum.thread("1", *replies("1", 3))
    crawl.scan()
    crawl.try_again()
    stored = sum(len(page.comments) for page in crawl.items())
    crawl.forum.thread("1", *replies("1", 8))

    assert (stored, crawl.scan()) == (3, ["/list/1/1", "/post/1"])


def test_each_new_reply_is_read_of_a_thread_that_stays_short(crawl: SmallCrawl) -> None:
    crawl.publish()
    asked = []
    for count in range(20, 32):
        crawl.forum.board("1", 1, f"1 {count}")
        crawl.forum.thread("1", *replies("1", count - 12))
        asked.append("/post/1" in crawl.scan())
        crawl.try_again()
    unchanged = [crawl.scan() for _ in range(5)]

    assert all(asked)
    assert ["/list/1/1"] in unchanged, "each listing that shows nothing new would ask for it"


def test_a_thread_that_is_gone_is_asked_for_at_once_with_each_new_reply_of_its_own_list(crawl: SmallCrawl) -> None:
    """Another board's list, which shows an old number for ever, asks for nothing."""
    crawl.publish("boards: [1, 2]\n")
    asked = []
    for count in range(1, 9):
        crawl.forum.board("1", 1, f"1 {count}")
        crawl.forum.board("2", 1, "1 1")
        asked.append(crawl.scan().count("/post/1"))
    quiet = [crawl.scan().count("/post/1") for _ in range(8)]

    assert all(asked)
    assert sum(asked) <= len(asked) + 3, "the other board's listings, after 1, 3 and 7 of both"
    assert sum(quiet) <= 4, "after 0, 1, 3 and 7 listings"


def test_each_new_reply_is_read_of_a_gone_thread_that_no_list_named_first(crawl: SmallCrawl) -> None:
    """As of a front page, `seed`, or a rebuild. Two boards whose lists differ do not ask for it in turn."""
    crawl.publish("boards: [1, 2]\n")
    crawl.frontier.admit("demo", [Request("demo", Stage.POST, "1", f"{crawl.forum.url}/post/1")])
    crawl.forum.statuses["/post/1"] = 404
    crawl.work()

    asked = []
    for count in range(20, 28):
        crawl.forum.board("1", 1, f"1 {count}")
        crawl.forum.board("2", 1, "1 3")
        asked.append(crawl.scan().count("/post/1"))

    assert all(asked)
    assert sum(asked) <= len(asked) + 4


def test_a_thread_that_lacks_more_than_a_few_replies_is_asked_for_once_more(crawl: SmallCrawl) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 12", "2 12")
    crawl.forum.thread("1", *replies("1", 9))
    crawl.forum.thread("2", *replies("2", 10))
    crawl.scan()

    assert crawl.try_again() == ["/post/1"]


def test_few_threads_are_asked_for_once_more_where_the_lists_count_otherwise(crawl: SmallCrawl) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, *[f"{number} 8" for number in range(1, 13)])
    for number in range(1, 13):
        crawl.forum.thread(str(number))
    crawl.scan()

    assert len(crawl.try_again()) == SHORT_IN_A_ROW


def note_all(crawl: SmallCrawl, store: Store) -> int:
    """Note all short threads, as a `run` does at its end, and return how many are read once more."""
    short = [thread for thread in store.thread_counts("demo") if thread.is_short]
    again = [request for thread in short if (request := thread.again("demo"))]
    return crawl.frontier.sites.note_threads("demo", {row.post_id: str(row) for row in short}, again, is_all=True)


class LongThreads:
    """Threads of a first page with ten replies and a second one, whose part of ten replies a test sets."""

    def __init__(self, crawl: SmallCrawl, *posts: str) -> None:
        self._forum, self._posts = crawl.forum, posts
        crawl.forum.board("1", 1, *[f"{post} 20" for post in posts])
        self.show(3)

    def show(self, count: int, *, first: int = 10) -> None:
        for post in self._posts:
            self._forum.thread(post, *replies(post, first), more="<i class=pages>2</i>")
            self._forum.pages[f"/comment/{post}/2"] = "<body>" + "".join(
                f"<div class=c data-id={post}-{turn}><b class=who>ann</b><p class=say>reply</p></div>"
                for turn in range(count)
            )


def test_a_thread_of_several_pages_that_lacks_replies_is_read_whole_once_more(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    threads, worker = LongThreads(crawl, "1"), Storing(crawl, store)
    first = worker.scan()
    threads.show(10)

    again, mended = crawl.work(), worker.scan()

    assert "20 listed, 13 stored" in first
    assert again == ["/post/1", "/comment/1/2"]
    assert mended == ""


def test_a_thread_of_several_pages_that_stays_short_is_read_again_once_for_a_revision(
    crawl: SmallCrawl, store: Store
) -> None:
    crawl.publish()
    LongThreads(crawl, "1")
    worker = Storing(crawl, store)
    worker.scan()
    again = crawl.work()

    kept = worker.scan()

    assert again == ["/post/1", "/comment/1/2"]
    assert (crawl.work(), note_all(crawl, store)) == ([], 0)
    assert "20 listed, 13 stored" in kept


@pytest.mark.parametrize("gate", ["pause", "drain"])
def test_a_site_that_is_paused_or_drains_reads_no_thread_again(crawl: SmallCrawl, store: Store, gate: str) -> None:
    crawl.publish()
    LongThreads(crawl, "1")
    worker = Storing(crawl, store)
    crawl.scan()
    getattr(crawl.frontier.sites, gate)("demo", Operator("ann@host", "why"))
    crawl.store_into(store)

    again = note_all(crawl, store)

    assert (again, Inspector(crawl.frontier).count_requests("demo").open) == (0, 0)
    crawl.frontier.sites.resume("demo", Operator("ann@host", "why"))
    assert (note_all(crawl, store), worker.scan()[:8]) == (1, "1 thread")


def test_few_threads_of_several_pages_are_read_again_where_all_stay_short(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    LongThreads(crawl, *map(str, range(1, 19)))
    worker = Storing(crawl, store)

    told_of = worker.scan()

    assert told_of.startswith("18 threads ")
    assert len({path for path in crawl.work() if path.startswith("/post/")}) == SHORT_IN_A_ROW + 1


def test_threads_that_a_fault_cut_are_read_again_by_and_by(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    threads, worker = LongThreads(crawl, *map(str, range(1, 13))), Storing(crawl, store)
    worker.scan()
    threads.show(10)
    crawl.work()
    worker.scan()

    rounds = []
    while asked := note_all(crawl, store):
        rounds.append(asked)
        crawl.work()
        worker.scan()

    assert rounds == [5, 2]
    assert told(crawl.frontier) == ""


def test_a_read_that_looks_for_lacking_replies_deletes_none(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    threads, worker = LongThreads(crawl, "1"), Storing(crawl, store)
    worker.scan()
    threads.show(10, first=9)
    crawl.work()

    mended = worker.scan()

    with store.database.reading() as connection:
        states = set(connection.execute(select(comments.c.state)).scalars())
    assert mended == ""
    assert (states, crawl.store_into(store)) == ({"normal"}, [])


def test_a_thread_whose_revision_counts_no_replies_is_read_once_more(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish(rules=RULES.replace("revision: [reply_count]", "revision: [title]"))
    crawl.forum.board("1", 1, "1 8", "2 8")
    crawl.forum.thread("1", *replies("1", 3))
    crawl.forum.thread("2", *replies("2", 8))
    worker = Storing(crawl, store)
    worker.scan()
    crawl.forum.thread("1", *replies("1", 8))

    assert crawl.work() == ["/post/1"]
    assert worker.scan() == ""


def test_a_count_of_a_thread_that_max_pages_cuts_is_no_promise(crawl: SmallCrawl) -> None:
    crawl.publish(rules=RULES.replace("  first_page: 2\n", "  first_page: 2\n  max_pages: 1\n"))
    crawl.forum.board("1", 1, "1 30")
    crawl.forum.thread("1", *replies("1", 10), more="<i class=pages>3</i>")
    crawl.scan()

    assert crawl.try_again() == []


def test_a_thread_of_which_a_site_reads_the_first_pages_only_is_not_short(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish(rules=RULES.replace("  first_page: 2\n", "  first_page: 2\n  max_pages: 2\n"))
    crawl.forum.board("1", 1, "1 30", "2 30")
    crawl.forum.thread("1", *replies("1", 10), more="<i class=pages>3</i>")
    crawl.forum.pages["/comment/1/2"] = "".join(
        f"<div class=c data-id={row.replace(' ', '><b class=who>ann</b><p class=say>', 1)}</div>"
        for row in replies("3", 10)
    )
    crawl.forum.thread("2", *replies("2", 10))

    assert Storing(crawl, store).scan().startswith("1 thread")
    assert {row.post_id: row.is_short for row in store.thread_counts("demo", rules=CountRules(2))} == {"2": True}


@pytest.mark.parametrize("counts_hidden", [False, True])
def test_a_thread_of_a_list_that_counts_hidden_replies_is_short_only_without_a_quarter(
    crawl: SmallCrawl, store: Store, *, counts_hidden: bool
) -> None:
    rules = RULES.replace("list:\n", "list:\n  counts_hidden: true\n") if counts_hidden else RULES
    crawl.publish(rules=rules)
    crawl.forum.board("1", 1, "1 16", "2 16")
    crawl.forum.thread("1", *replies("1", 4))
    crawl.forum.thread("2", *replies("2", 3))
    site = parse_site(rules + "boards: [1]\n", "demo.yaml")

    assert Storing(crawl, store).scan().startswith("1 thread " if counts_hidden else "2 threads ")
    short = {row.post_id for row in store.thread_counts("demo", rules=site.count_rules) if row.is_short}
    assert short == ({"2"} if counts_hidden else {"1", "2"})


def test_a_thread_that_another_worker_stores_whole_is_named_no_more(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 27")
    crawl.forum.thread("1", *replies("1", 9))
    first = Storing(crawl, store).scan()
    crawl.forum.board("1", 1, "1 28")
    crawl.forum.thread("1", *replies("1", 28))

    mended = Storing(crawl, store).scan()

    assert (first != "", mended) == (True, "")


def test_a_board_that_is_scanned_every_second_does_not_put_the_count_off(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 27")
    crawl.forum.thread("1", *replies("1", 9))
    worker = Storing(crawl, store)
    assert worker.scan() != ""

    crawl.forum.thread("1", *replies("1", 28))
    for visits in range(round(SETTLES_S) + 3):
        crawl.forum.board("1", 1, f"1 28 2026-01-01 00:00:0{visits}")
        worker.scan_at(worker.now + 1)

    assert told(crawl.frontier) == ""


def test_a_short_thread_whose_page_does_not_come_is_named_on(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 27")
    crawl.forum.thread("1", *replies("1", 9))
    worker = Storing(crawl, store)
    worker.scan()
    crawl.forum.board("1", 1, "1 40")
    crawl.forum.statuses["/post/1"] = 500

    assert "27 listed, 9 stored" in worker.scan()


def test_a_short_thread_that_is_deleted_is_named_no_more(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 27", "2 0")
    crawl.forum.thread("1", *replies("1", 9))
    crawl.forum.thread("2")
    worker = Storing(crawl, store)
    worker.scan()
    crawl.forum.board("1", 1, "1 40", "2 0")
    crawl.forum.statuses["/post/1"] = 404

    assert worker.scan() == ""


def test_threads_that_could_not_be_counted_or_noted_are_counted_later(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 27")
    crawl.forum.thread("1", *replies("1", 9))
    Storing(crawl, store).scan()
    crawl.frontier.sites.note_threads("demo", {}, is_all=True)
    watch, texts = ThreadWatch(crawl.frontier), {"demo": '{"comment": {"fields": {}}}'}
    watch.note([Items("demo", posts=(Post("1", is_page=True),))], {}, 0.0)

    def fails(site: str, keys: Collection[str], most_pages: int | None) -> list[ThreadCount]:
        raise BackendError("the database is away")

    watch.look(fails, texts, SETTLES_S)
    before = told(crawl.frontier)
    watch.look(store.thread_counts, texts, SETTLES_S)

    assert before == ""
    assert "27 listed, 9 stored" in told(crawl.frontier)


def test_threads_that_wait_for_their_count_are_bounded_and_the_oldest_are_left_out(
    crawl: SmallCrawl, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(thread_watch, "MOST_WRITTEN", 3)
    watch, counted = ThreadWatch(crawl.frontier), list[str]()
    for number in range(5):
        watch.note([Items("demo", posts=(Post(str(number), is_page=True),))], {}, float(number))

    watch.look(
        lambda site, keys, most_pages: counted.extend(keys) or [], {"demo": '{"comment": {"fields": {}}}'}, 100.0
    )

    assert counted == ["2", "3", "4"]
    assert "threads are stored faster" in caplog.text


def test_a_thread_whose_further_pages_are_on_their_way_is_no_short_one(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, "1 20")
    crawl.forum.thread("1", *replies("1", 10), more="<i class=pages>2</i>")
    crawl.forum.statuses["/comment/1/2"] = 500

    assert Storing(crawl, store).scan() == ""


def test_a_site_that_reads_no_replies_has_no_short_threads(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish(rules=RULES.partition("comment:")[0].replace("  pages: .pages\n", ""))
    crawl.forum.board("1", 1, "1 20")
    crawl.forum.thread("1")

    assert Storing(crawl, store).scan() == ""


@pytest.mark.parametrize(
    ("listed", "stored", "is_short"),
    [(3, 0, True), (2, 0, False), (12, 10, False), (12, 9, True), (20, 15, True), (7, 4, True), (60, 57, False),
     (60, 56, True), (10_049, 9_547, False), (10_049, 9_546, True), (8, 9, False)],
)  # fmt: skip
def test_few_replies_that_are_missing_are_deleted_ones(listed: int, stored: int, is_short: bool) -> None:
    assert ThreadCount("1", None, listed, stored).is_short == is_short


def test_the_ledger_remembers_so_many_short_threads_and_no_more(crawl: SmallCrawl) -> None:
    crawl.publish()
    sites = crawl.frontier.sites

    sites.note_threads("demo", {str(n): f"{n + 10} 1 https://forum.example/t/{n}" for n in range(MOST_SHORT + 5)})
    many = told(crawl.frontier)
    sites.note_threads("demo", {"7": "30 2 https://forum.example/t/7"}, is_all=True)
    sites.note_threads("unknown", {"7": "30 2 https://forum.example/t/7"})

    assert many.startswith(f"{MOST_SHORT} threads have fewer")
    assert "https://forum.example/t/99 (109 listed, 1 stored)" in many
    assert told(crawl.frontier).endswith("https://forum.example/t/7 (30 listed, 2 stored)")


def test_a_crawl_whose_rows_the_database_rejected_has_failed(crawl: SmallCrawl) -> None:
    crawl.publish()
    frontier = crawl.frontier
    start = Start(0.0, take_snapshot(frontier), Stored(0, 0))
    crawl.forum.board("1", 1, "1 0", "2 0")
    crawl.scan()
    for page_id, _ in frontier.outbox.draw("me", 100).pages:
        Admin(frontier).failed.items.put(page_id, "the encoding LATIN1 has no such character")

    failures, _ = problems_of(start, take_snapshot(frontier))
    later, _ = problems_of(Start(0.0, take_snapshot(frontier), Stored(0, 0)), take_snapshot(frontier))

    assert [one.text for one in failures] == ["3 pages could not be stored and were rejected"]
    assert later == []


def test_a_run_that_leaves_a_single_thread_short_has_failed(crawl: SmallCrawl, store: Store) -> None:
    crawl.publish()
    crawl.forum.board("1", 1, *[f"{number} 4" for number in range(1, 41)])
    for number in range(1, 41):
        crawl.forum.thread(str(number), *replies(str(number), 1 if number == 7 else 4))
    start = Start(0.0, take_snapshot(crawl.frontier), Stored(0, 0))
    Storing(crawl, store).scan()

    failures, remarks = problems_of(start, take_snapshot(crawl.frontier))

    assert [problem.name for problem in failures] == ["CrawlThreadsShort"]
    assert remarks == []
