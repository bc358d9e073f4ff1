# a bench prints
"""What scans of quiet boards cost with ETags and without: `python -m tests.bench.rescan_bench [scans]`.

The bundled forum's pages from a server that gives ETags; its boards are walked page by page. After a first crawl and
one more scan all boards are scanned again and again, in turn with `revalidate` and without.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from pathlib import Path

import redis

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.local.redis_server import RedisServer
from tests.flow.world import ROOT
from tests.frontier.small_crawl import SmallCrawl, SmallForum, small_forum

SITE = (ROOT / "config" / "sites" / "demo.yaml").read_text("utf-8").replace("walk: fan", "walk: chain")
ROUNDS = 2


def main(scans: int) -> None:
    """Measure in turn."""
    with tempfile.TemporaryDirectory() as directory, small_forum() as forum:
        fill(forum)
        server = RedisServer(Path(directory))
        server.start()
        with redis.Redis.from_url(server.url) as client:
            for _ in range(ROUNDS):
                for revalidate in (False, True):
                    client.flushall()
                    print(measure(client, forum, scans, revalidate=revalidate))
        server.stop()


def fill(forum: SmallForum) -> None:
    """Serve the demo forum's pages with ETags."""
    demo = DemoForum()
    for path in demo.truth().paths:
        answer = demo.render(path)
        if answer.status == 200:
            forum.pages[path] = answer.body
            forum.etags[path] = f'"{hashlib.sha256(answer.body).hexdigest()[:16]}"'


def measure(client: redis.Redis, forum: SmallForum, scans: int, *, revalidate: bool) -> str:
    """Crawl once, scan again and again, and say what the scans cost this process, forum included."""
    crawl = SmallCrawl(client, Frontier(client, "test"), forum)
    crawl.publish(f"revalidate: {str(revalidate).lower()}\n", SITE)
    crawl.scan()
    crawl.scan()
    before, began = counted(crawl), time.process_time()
    asked = sum(len(crawl.scan()) for _ in range(scans))
    cpu_s = time.process_time() - began
    unchanged, parsed, wire = (now - then for now, then in zip(counted(crawl), before, strict=True))
    return (
        f"revalidate {revalidate!s:5}: {asked} requests, {unchanged} unchanged, {parsed} pages parsed,"
        f" {wire / 1024:.0f} KB, {cpu_s:.2f} CPU s"
    )


def counted(crawl: SmallCrawl) -> tuple[int, int, int]:
    """Give answers of status 304, list pages parsed, bytes of bodies."""
    of_all = crawl.client.hgetall("test:stats")
    parsed = sum(int(n) for name, n in of_all.items() if name.startswith(b"parse:list:") and name[-1:].isdigit())
    stats = Inspector(crawl.frontier).count_requests("demo").stats
    return stats.get("status:304", 0), parsed, stats.get("wire", 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
