"""`python -m tests.changing`: crawl forums that change, print what is wrong by class, end with 1 if anything is."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.sites.stages import Walk
from tests.changing.crawl import ChangingCrawl, Plan
from tests.changing.judge import Difference
from tests.changing.serve import add_options
from tests.flow.world import World
from tests.store.conftest import empty_schema, new_cluster

EXAMPLES = 2
_OF_FORUM = ("rate", "latency-ms", "skew", "cache", "meddle", "errors")


def main() -> int:
    """Run what was asked for."""
    options = _parser().parse_args()
    found: Counter[str] = Counter()
    told: dict[str, list[str]] = {}
    with _database(options.database) as new_url:
        for seed in range(options.seed, options.seed + options.seeds):
            for difference, explained in _run(options, seed, new_url()):
                found[difference.kind] += 1
                told.setdefault(difference.kind, []).append(f"seed {seed}: {explained}")
    for kind, number in found.most_common():
        sys.stdout.write(f"| {kind} | {number} |\n")
    for kind, texts in told.items():
        for text in texts if options.all else texts[:EXAMPLES]:
            sys.stdout.write(f"\n{kind}: {text}\n")
    return 1 if found else 0


def _run(options: argparse.Namespace, seed: int, url: str) -> list[tuple[Difference, str]]:
    """Run one crawl; give what is wrong with its explanation."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="crawl-changing-") as name:
        server = RedisServer(Path(name) / "redis")
        server.start()
        world = World(Path(name), server)
        crawl = ChangingCrawl(world, _plan(options, seed, url))
        try:
            found = crawl.run()
            explained = [(one, _explained(crawl, one)) for one in found]
            pages = len(world.requests())
        finally:
            world.close()
            server.stop()
    killed = ", ".join(crawl.killed) or "none"
    sys.stderr.write(
        f"seed {seed}: {pages} requests, killed {killed}, {len(found)} differences, {time.monotonic() - began:.0f} s\n"
    )
    return explained


def _explained(crawl: ChangingCrawl, one: Difference) -> str:
    """Put below a difference what happened to the thread and what the forum said of it."""
    if not one.post_id:
        return one.text
    changes = crawl.changes_of(one.post_id)[-8:]
    answers = crawl.answers_about(one.post_id)[:12]
    return "\n    ".join([one.text, "changes:", *changes, "answers, the last one first:", *answers])


def _plan(options: argparse.Namespace, seed: int, url: str) -> Plan:
    forum = [text for name in _OF_FORUM for text in (f"--{name}", str(getattr(options, name.replace("-", "_"))))]
    forum += ["--no-date"] * options.no_date
    # Without a Date the moment of an answer is ours: what was kept has its words from up to so long ago.
    late_s = (int(options.cache) + 1) * options.no_date
    return Plan(
        seed=seed,
        seconds=options.seconds,
        forum=tuple(forum),
        kills=options.kills,
        passes=options.passes,
        database=url,
        has_full_pass=not options.no_full_pass,
        walk=Walk(options.walk),
        words_s=60 + late_s,
    )


@contextmanager
def _database(kind: str) -> Iterator[object]:
    """Return a function that names a new database at each call; '' is SQLite in the crawl's own directory."""
    if kind == "sqlite":
        yield lambda: ""
        return
    with new_cluster() as cluster:
        yield lambda: empty_schema(cluster.url)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.changing", description=__doc__)
    add_options(parser)
    add = parser.add_argument
    add("--seeds", type=int, default=1, help="crawls, each with the next seed (default: %(default)s)")
    add("--kills", type=int, default=0, help="SIGKILLs of worker processes while it changes (default: %(default)s)")
    add("--passes", type=int, default=1, help="full passes that begin while it changes (default: %(default)s)")
    add("--database", choices=("sqlite", "postgresql"), default="sqlite", help="default: %(default)s")
    add("--walk", choices=[walk.value for walk in Walk], default="chain", help="of list pages (default: %(default)s)")
    add("--no-full-pass", action="store_true", help="judge after two further scans, without a full pass")
    add("--all", action="store_true", help=f"explain every difference, not {EXAMPLES} of each class")
    return parser


if __name__ == "__main__":
    sys.exit(main())
