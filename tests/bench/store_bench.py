# a bench prints
"""Measure the store: CPU per comment for batches of several sizes, new, replayed and seen again.

    python -m tests.bench.store_bench [--url sqlite:///FILE] [--pages 3200] [--batch 50 200 500] [--authors 5000]

Prints CPU of this process (a server's own CPU is not in it) and wall time; asserts nothing. Without
`--url` each run gets an SQLite file of its own. Half the pages carry a post; each carries 17 comments,
whose authors are chosen by chance: with 5,000 authors 9 of 100 comments of the first load show a new one.
"""

from __future__ import annotations

import argparse
import gc
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from crawl_tasks.model import Comment, Items, Post
from crawl_tasks.store.upsert import Store
from tests.store.rows import empty

COMMENTS_PER_PAGE = 17


def main() -> None:
    """Run all measurements."""
    parser = argparse.ArgumentParser(description="Measure the store.")
    parser.add_argument("--url", help="default: a new SQLite file; a given database is emptied first")
    parser.add_argument("--pages", type=int, default=3200)
    parser.add_argument("--batch", type=int, nargs="+", default=[50, 200, 500])
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--authors", type=int, default=5000)
    chosen = parser.parse_args()
    pages = make_pages(chosen.pages, chosen.authors)
    later = [seen_later(page) for page in pages]
    gc.freeze()  # a crawl does not hold all its pages at once; the collector need not walk them here either
    print(f"{len(pages)} pages, {len(pages) * COMMENTS_PER_PAGE} comments; CPU and wall in us per comment")
    print(f"{'batch':>6} {'load':<12} {'CPU':>7} {'wall':>7}")
    for size in chosen.batch:
        rounds = [run(chosen.url, pages, later, size) for _ in range(chosen.rounds)]
        for place, load in enumerate(("new", "replayed", "seen later")):
            cpu, wall = (min(found[place][which] for found in rounds) for which in (0, 1))
            print(f"{size:>6} {load:<12} {cpu:>7.2f} {wall:>7.2f}")


def run(url: str | None, pages: Sequence[Items], later: Sequence[Items], size: int) -> list[tuple[float, float]]:
    """Fill an empty database, replay all, then replay it as seen later; return CPU and wall time of each."""
    with tempfile.TemporaryDirectory() as directory:
        store = Store(url or f"sqlite:///{Path(directory)}/bench.db").open()
        empty(store)
        found = [measure(store, some, size) for some in (pages, pages, later)]
        store.close()
        return found


def measure(store: Store, pages: Sequence[Items], size: int) -> tuple[float, float]:
    """Write all pages in batches of one size; return microseconds of CPU and of wall time per comment."""
    cpu, wall = time.process_time(), time.perf_counter()
    for start in range(0, len(pages), size):
        store.write(pages[start : start + size])
    scale = 1e6 / (len(pages) * COMMENTS_PER_PAGE)
    return (time.process_time() - cpu) * scale, (time.perf_counter() - wall) * scale


def make_pages(number: int, authors: int) -> list[Items]:
    """Make pages as a crawl gives them: two pages of a thread, threads next to each other."""
    chance = random.Random(1)
    pages = []
    for page in range(number):
        thread = str(100_000 + page // 2)
        seen_at = 1_700_000_000.0 + page
        comments = tuple(
            Comment(
                thread,
                str(page * 100 + place),
                seen_at,
                author=f"user{chance.randrange(authors)}",
                created_at=1_600_000_000 + page,
                body="some words of a comment, 中文也有 " * chance.randint(1, 8),
                page=page % 2 + 1,
                position=place,
            )
            for place in range(COMMENTS_PER_PAGE)
        )
        post = Post(thread, seen_at, "7", f"http://forum/post/{thread}", "a title", "ann", 1, "the body " * 60)
        pages.append(Items("site", (), () if page % 2 else (post,), comments))
    return pages


def seen_later(page: Items) -> Items:
    """Say that a page was fetched again, a day later, and is as it was."""
    posts = tuple(post._replace(seen_at=post.seen_at + 86400) for post in page.posts)
    comments = tuple(comment._replace(seen_at=comment.seen_at + 86400) for comment in page.comments)
    return page._replace(posts=posts, comments=comments)


if __name__ == "__main__":
    main()
