"""CPU time to parse a page, items and requests included: `python -m tests.bench.parse_bench [rounds]`.

Pages are those of the demo forum in its bench size. Prints means over pages of their best rounds; asserts nothing.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from math import inf
from pathlib import Path
from statistics import mean
from time import process_time_ns

from selectolax.lexbor import LexborHTMLParser

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.sizes import BENCH
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.sites.addresses import Addresses, Target
from crawl_tasks.sites.loader import load_site

FILE = Path(__file__).parents[2] / "config" / "sites" / "demo.yaml"
PAGES = 100
Sample = list[tuple[Request, Fetched]]


def sample(forum: DemoForum) -> tuple[dict[Stage, Sample], dict[Stage, int]]:
    """Return some pages of each kind, spread over the whole forum, and how many there are of each."""
    site = load_site(FILE)
    addresses = Addresses(site)
    at_s = parsedate_to_datetime(forum.date).timestamp()
    paths: dict[Stage, list[tuple[str, Target]]] = {stage: [] for stage in Stage}
    for path in forum.truth().paths:
        target = addresses.read(site.base + path)
        if target is not None:
            paths[target.stage].append((path, target))
    found: dict[Stage, Sample] = {stage: [] for stage in Stage}
    for stage, known in paths.items():
        for path, target in known[:: max(1, len(known) // PAGES)][:PAGES]:
            answer = forum.render(path)
            request = Request("demo", stage, target.key, site.base + path, target.page, "1|")
            page = Fetched(request.address, answer.status, answer.headers, answer.body, at_s)
            found[stage] += [(request, page)] if answer.status == 200 else []
    return found, {stage: len(known) for stage, known in paths.items()}


def timed(work: Callable[[Request, Fetched], object], pages: Sample, rounds: int) -> float:
    """Return CPU milliseconds of a page: the mean of each page's best round, which a busy machine disturbs least."""
    best = [inf] * len(pages)
    for _ in range(rounds):
        for place, (request, page) in enumerate(pages):
            start = process_time_ns()
            work(request, page)
            best[place] = min(best[place], process_time_ns() - start)
    return mean(best) / 1e6


def main(rounds: int) -> None:
    """Print the numbers."""
    parser = compile_parser(load_site(FILE))
    out = sys.stdout.write
    out(f"{'stage':8} {'pages':>6} {'KB':>5} {'items':>6} {'parse ms':>9} {'tree only':>10}\n")
    sampled, counts = sample(DemoForum(seed=1, size=BENCH))
    # A worker's heap does not hold a whole forum for the garbage collector to walk.
    gc.collect()
    gc.freeze()
    whole = bare = 0.0
    for stage, pages in sampled.items():
        items = mean(len(one.items.posts) + len(one.items.comments) for one in (parser.parse(*p, 0) for p in pages))
        size = mean(len(page.body) for _, page in pages) / 1000
        took = timed(lambda request, page: parser.parse(request, page, 0), pages, rounds)
        tree = timed(lambda _, page: LexborHTMLParser(page.body), pages, rounds)
        out(f"{stage.value:8} {counts[stage]:6} {size:5.1f} {items:6.1f} {took:9.3f} {tree:10.3f}\n")
        whole += took * counts[stage]
        bare += tree * counts[stage]
    total = sum(counts.values())
    out(f"{'mix':8} {total:6} {'':5} {'':6} {whole / total:9.3f} {bare / total:10.3f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
