# a bench prints
"""Measure the search and the reads of the status page: the index of many comments, and the time of queries.

    python -m tests.bench.search_bench [--database sqlite:///FILE] [--comments 1000000] [--index FILE]

A database that is empty is filled in bulk, threads of 100 comments, half of the texts Chinese. Prints CPU and wall time
of the index, its size, and for each kind of query the median and the 95th percentile, and that of the CPU of this
process; asserts nothing.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import Connection, Table, insert, update

from crawl_tasks.store import tables
from crawl_tasks.store.item_reader import ItemReader
from crawl_tasks.store.queries import counts
from crawl_tasks.store.search_index import SearchIndex
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.store.upsert import Store
from tests.bench.export_bench import A_THREAD, CHINESE, ENGLISH, text

THREADS_A_CHANGE = 50
TEXTS = 50_000
ROUNDS = 40
NEWEST = 1_700_000_000
FIRST_THREAD = 1_000_000_000


def main() -> None:
    """Fill, index and search."""
    parser = argparse.ArgumentParser(description="Measure the search.")
    parser.add_argument("--database")
    parser.add_argument("--comments", type=int, default=1_000_000)
    parser.add_argument("--index", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        file = chosen.index or Path(directory, "search.db")
        with Store(chosen.database or f"sqlite:///{directory}/bench.db") as store:
            if not counts(store):
                fill(store, chosen.comments)
            with SearchIndex(file, store) as index:
                cpu, wall = time.process_time(), time.perf_counter()
                rows = index.update()
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                size = file.stat().st_size / 1e6
                print(f"{rows} rows: {cpu:.0f} s of CPU, {wall:.0f} s, {size:.0f} MB, peak {peak:.0f} MB", flush=True)
                for name, query, selection in questions():
                    print(f"{name:<32} {measured(index, query, selection)}", flush=True)
            for name, read in reads(ItemReader(store.database.url.render_as_string(False), file), store):
                print(f"{name:<32} {timed(read)}", flush=True)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"peak {peak:.0f} MB", flush=True)


Question = tuple[str, Callable[[random.Random], str], RowSelection]


def questions() -> Iterator[Question]:
    """Return kinds of queries, each with a function that makes one."""
    everything = RowSelection()
    yield "a rare word", lambda chance: f"part{chance.randrange(100_000)}", everything
    yield "a common word", lambda chance: chance.choice(ENGLISH[:20]), everything
    yield "two common words", lambda chance: " ".join(chance.sample(ENGLISH[:20], 2)), everything
    yield "a phrase of two words", lambda chance: f'"{" ".join(chance.sample(ENGLISH[:20], 2))}"', everything
    yield "two Chinese characters", lambda chance: "".join(chance.sample(CHINESE[:100], 2)), everything
    yield "three Chinese characters", lambda chance: "".join(chance.sample(CHINESE[:100], 3)), everything
    yield "one Chinese character", lambda chance: chance.choice(CHINESE[:100]), everything
    yield "a common word of an author", lambda chance: chance.choice(ENGLISH[:20]), RowSelection(authors=["user7"])
    yield "a common word of a board", lambda c: c.choice(ENGLISH[:20]), RowSelection(sites=["site1"], boards=["5"])
    yield "a common word of last week", lambda c: c.choice(ENGLISH[:20]), RowSelection(since=NEWEST - 7 * 86_400)
    yield "no such word", lambda chance: f"none{chance.random()}", everything


def reads(reader: ItemReader, store: Store) -> Iterator[tuple[str, Callable[[random.Random], int]]]:
    """Return the reads of the status page, each with the number of its rows."""
    threads = sum(count.posts for count in counts(store))

    def thread(chance: random.Random) -> int:
        number = chance.randrange(threads)
        found = reader.thread(f"site{number % 4}", str(FIRST_THREAD + number))
        return len(found.comments) if found else 0

    def earlier(chance: random.Random) -> int:
        at = NEWEST - 60 * chance.randrange(threads)
        return len(reader.newest("", NEWEST, (at, "site1", str(FIRST_THREAD))))

    yield "the newest posts", lambda _: len(reader.newest("", NEWEST))
    yield "the newest posts of a site", lambda _: len(reader.newest("site1", NEWEST))
    yield "a page of older posts", earlier
    yield "a page of a thread", thread
    yield "an author", lambda c: len(reader.by_author(f"site{c.randrange(4)}", f"@user{c.randrange(50_000)}").items)


def measured(index: SearchIndex, query: Callable[[random.Random], str], selection: RowSelection) -> str:
    """Return median and 95th percentile of a kind of query in milliseconds, and the hits of a query."""
    sources = selection.sources()
    return timed(lambda chance: len(index.search(query(chance), selection, sources, 20)))


def timed(read: Callable[[random.Random], int]) -> str:
    """Return median and 95th percentile of a read in milliseconds, that of its CPU, and its rows."""
    chance, times, cpu, hits = random.Random(3), list[float](), list[float](), 0
    for _ in range(ROUNDS):
        began, busy = time.perf_counter(), time.thread_time()
        hits += read(chance)
        cpu.append(1000 * (time.thread_time() - busy))
        times.append(1000 * (time.perf_counter() - began))
    median, p95, p95_cpu = sorted(times)[ROUNDS // 2], *(sorted(some)[ROUNDS * 95 // 100] for some in (times, cpu))
    return f"median {median:8.1f} ms   p95 {p95:8.1f} ms   of CPU {p95_cpu:6.1f} ms   hits {hits / ROUNDS:.1f}"


def fill(store: Store, number: int) -> None:
    """Fill an empty database: the last comment is the newest."""
    chance, threads = random.Random(1), number // A_THREAD
    texts = [text(chance, 5, 60) for _ in range(TEXTS)]
    for change in range(1, -(-threads // THREADS_A_CHANGE) + 1):
        some = range((change - 1) * THREADS_A_CHANGE, min(change * THREADS_A_CHANGE, threads))
        with store.database.writing() as connection:
            load(connection, tables.posts, [post(thread, threads, chance, texts, change) for thread in some])
            rows = [row for thread in some for row in comments(thread, threads, chance, texts, change)]
            load(connection, tables.comments, rows)
    with store.database.writing() as connection:
        connection.execute(insert(tables.meta), [{"name": "change", "value": "0"}])
        connection.execute(update(tables.meta).where(tables.meta.c.name == "change").values(value=str(change)))


def load(connection: Connection, table: Table, rows: list[dict[str, object]]) -> None:
    """Insert rows by the quickest way of the dialect."""
    names = ", ".join(rows[0])
    if connection.dialect.name == "sqlite":
        marks = ", ".join("?" * len(rows[0]))
        connection.exec_driver_sql(
            f"INSERT INTO {table} ({names}) VALUES ({marks})", [(*row.values(),) for row in rows]
        )
        return
    with connection.connection.cursor() as cursor, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row((*row.values(),))


def post(thread: int, threads: int, chance: random.Random, texts: list[str], change: int) -> dict[str, object]:
    at = NEWEST - 60 * (threads - thread)
    own = {"forum_id": str(thread // 4 % 40), "title": chance.choice(texts)[:60], "url": f"http://forum/{thread}"}
    return _row(thread, at, chance, texts, change) | own


def comments(
    thread: int, threads: int, chance: random.Random, texts: list[str], change: int
) -> Iterator[dict[str, object]]:
    at = NEWEST - 60 * (threads - thread)
    for place in range(A_THREAD):
        own = {"comment_id": str(thread * A_THREAD + place), "page": 1 + place // 20, "position": place % 20}
        yield _row(thread, at + place, chance, texts, change) | own


def _row(thread: int, at: int, chance: random.Random, texts: list[str], change: int) -> dict[str, object]:
    words = chance.choice(texts)
    rare = f" part{chance.randrange(100_000)}" if chance.random() < 0.1 else ""
    return {
        "site": f"site{thread % 4}",
        "post_id": str(FIRST_THREAD + thread),
        "seen_at": float(at + 3600),
        "first_seen_at": float(at + 3600),
        "created_at": at,
        "author": f"user{chance.randrange(50_000)}",
        "body": words + rare,
        "content_hash": f"{chance.getrandbits(128):032x}",
        "change_id": change,
    }


if __name__ == "__main__":
    main()
