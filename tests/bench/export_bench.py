# a bench prints
"""Measure the export: CPU a million rows, and the memory at its peak, for each format.

    python -m tests.bench.export_bench [--database sqlite:///FILE] [--comments 1000000] [--formats jsonl parquet]

Without `--database` a database is made in a temporary directory: threads of 100 comments, half of them Chinese. A
database that is given is filled when it is empty. Prints CPU of the exporting process, wall time and memory; asserts
nothing.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.export import export
from crawl_tasks.store.output_format import FORMATS, format_of
from crawl_tasks.store.queries import counts
from crawl_tasks.store.selection import ExportKind, RowSelection
from crawl_tasks.store.upsert import Store

A_THREAD = 100
BATCH = 200
ENGLISH = [f"{first}{second}{third}" for first in "bdfgklmst" for second in "aeiou" for third in "lnrst"]
CHINESE = [chr(0x4E00 + 31 * number) for number in range(600)]


def main() -> None:
    """Run all measurements, each export in a process of its own."""
    parser = argparse.ArgumentParser(description="Measure the export.")
    parser.add_argument("--database")
    parser.add_argument("--comments", type=int, default=1_000_000)
    parser.add_argument("--formats", nargs="+", default=[form.name for form in FORMATS])
    parser.add_argument("--out", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.out:
        export_once(chosen.database, chosen.out)
        return
    with tempfile.TemporaryDirectory() as directory:
        database = chosen.database or f"sqlite:///{directory}/bench.db"
        fill(database, chosen.comments)
        print(f"{'format':<12} {'CPU s':>7} {'wall s':>7} {'MB':>7} {'peak MB':>8}")
        for form in chosen.formats:
            out = Path(directory, f"rows.{form}")
            again = [sys.executable, "-m", "tests.bench.export_bench", "--database", database, "--out", str(out)]
            said = subprocess.run(again, check=True, capture_output=True, text=True).stdout
            cpu, wall, peak = map(float, said.split())
            print(f"{form:<12} {cpu:>7.1f} {wall:>7.1f} {out.stat().st_size / 1e6:>7.0f} {peak:>8.0f}", flush=True)
            out.unlink()


def export_once(database: str, out: str) -> None:
    """Export all comments, and print seconds of CPU and of wall time, and the peak of the memory in MB."""
    began = time.perf_counter()
    with Store(database).open(create=False) as store:
        export(store, out, RowSelection(ExportKind.COMMENTS), format_of(out))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(time.process_time(), time.perf_counter() - began, peak)


def fill(database: str, number: int) -> None:
    """Fill an empty database with threads of comments."""
    with Store(database) as store:
        if counts(store):
            return
        began, batch = time.process_time(), list[Items]()
        for page in pages(number):
            batch.append(page)
            if len(batch) == BATCH:
                store.write(batch)
                batch.clear()
        store.write(batch)
        print(f"{number} comments stored with {time.process_time() - began:.0f} s of CPU", file=sys.stderr)


def pages(number: int) -> Iterator[Items]:
    """Make threads, one a page, with times in the order of their ids and boards by turns."""
    chance = random.Random(1)
    for thread in range(number // A_THREAD):
        key, at = str(1_000_000 + thread), 1_700_000_000 + thread * 60
        comments = tuple(
            Comment(
                key,
                f"{thread * A_THREAD + place}",
                at + 3600.0 + place,
                author=f"user{chance.randrange(50_000)}",
                created_at=at + place,
                body=text(chance, 5, 60),
                page=1 + place // 20,
                position=place % 20,
            )
            for place in range(A_THREAD)
        )
        post = Post(key, at + 3600.0, str(thread % 40), f"http://forum/{key}", text(chance, 3, 10), "ann", at)
        yield Items(
            f"site{thread % 4}", (), (post._replace(body=text(chance, 20, 100), reply_count=A_THREAD),), comments
        )


def text(chance: random.Random, least: int, most: int) -> str:
    """Make a text, half of the time Chinese, with common and rare words."""
    size = chance.randint(least, most)
    if chance.random() < 0.5:
        # A square makes the first of a list more frequent than the last.
        return "".join(CHINESE[int(len(CHINESE) * chance.random() ** 2)] for _ in range(2 * size))
    words = [ENGLISH[int(len(ENGLISH) * chance.random() ** 2)] for _ in range(size)]
    if chance.random() < 0.2:
        words.append(f"part{chance.randrange(100_000)}")
    return " ".join(words)


if __name__ == "__main__":
    main()
