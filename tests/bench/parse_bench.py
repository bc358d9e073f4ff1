"""CPU time to parse a page, items and requests included: `python -m tests.bench.parse_bench [rounds]`.

Pages are those of the demo forum in its bench size. Prints the median and the best round; asserts nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from statistics import mean, median
from time import process_time

from selectolax.lexbor import LexborHTMLParser

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.sizes import BENCH
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.parse.page import compile_parser
from crawl_tasks.sites.address import Addresses
from crawl_tasks.sites.loader import load_site

FILE = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"
PAGES = 30


def sample(forum: DemoForum) -> dict[Stage, list[tuple[Request, Fetched]]]:
    """Return some pages of each kind, the fullest of the first ones."""
    site = load_site(FILE)
    addresses = Addresses(site)
    at_s = parsedate_to_datetime(forum.date).timestamp()
    found: dict[Stage, list[tuple[Request, Fetched]]] = {stage: [] for stage in Stage}
    for path in forum.truth().paths:
        target = addresses.read(site.base + path)
        if target is None or len(found[target.stage]) >= PAGES * 4:
            continue
        answer = forum.render(path)
        if answer.status == 200:
            request = Request("demo", target.stage, target.key, site.base + path, target.page, "1|")
            found[target.stage].append((request, Fetched(request.address, 200, answer.headers, answer.body, at_s)))
    return {stage: sorted(pages, key=lambda one: -len(one[1].body))[:PAGES] for stage, pages in found.items()}


def timed(work: Callable[[], None], rounds: int) -> tuple[float, float]:
    """Return median and best CPU milliseconds of one page."""
    took = []
    for _ in range(rounds):
        start = process_time()
        work()
        took.append((process_time() - start) * 1000 / PAGES)
    return median(took), min(took)


def main(rounds: int) -> None:
    """Print the numbers."""
    parser = compile_parser(load_site(FILE))
    out = sys.stdout.write
    out(f"{'stage':8} {'KB':>5} {'items':>6} {'parse ms':>9} {'best':>6} {'tree only':>10} {'best':>6}\n")
    sampled = sample(DemoForum(seed=1, size=BENCH))
    # A worker's heap does not hold a whole forum for the garbage collector to walk.
    gc.collect()
    gc.freeze()
    for stage, pages in sampled.items():

        def whole(pages: list[tuple[Request, Fetched]] = pages) -> None:
            for request, page in pages:
                parser.parse(request, page, 0)

        def tree(pages: list[tuple[Request, Fetched]] = pages) -> None:
            for _, page in pages:
                LexborHTMLParser(page.body)

        items = mean(len(one.items.posts) + len(one.items.comments) for one in (parser.parse(*p, 0) for p in pages))
        size = mean(len(page.body) for _, page in pages) / 1000
        middle, best = timed(whole, rounds)
        bare, least = timed(tree, rounds)
        out(f"{stage.value:8} {size:5.1f} {items:6.1f} {middle:9.3f} {best:6.3f} {bare:10.3f} {least:6.3f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
