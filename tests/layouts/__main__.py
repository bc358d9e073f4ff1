"""Measure `crawl-tasks new` on made-up forums: `python -m tests.layouts --count 100 --first 0 --step 2`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.layouts.drawing import content, drawn
from tests.layouts.measure import Verdict, measured
from tests.layouts.pages import Pages
from tests.programs.host import served


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.layouts", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument("--step", type=int, default=2, help="from one seed to the next (default: 2, the even ones)")
    parser.add_argument("--count", type=int, default=100, help="number of layouts (default: 100)")
    parser.add_argument("--jobs", type=int, default=2, help="layouts at a time (default: 2)")
    parser.add_argument("--serve", type=int, metavar="SEED", help="show the forum of a seed on loopback, until Enter")
    options = parser.parse_args()
    if options.serve is not None:
        layout = drawn(options.serve)
        with served(Pages(layout, content(layout))) as host:
            sys.stdout.write(f"{host.url}/\n{layout}\n")
            sys.stdout.flush()
            sys.stdin.readline()
        return
    seeds = range(options.first, options.first + options.count * options.step, options.step)
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = []
        for one in pool.map(measured, seeds):
            outcomes.append(one)
            inside = " (all was right)" * one.is_right_inside
            sys.stdout.write(f"{one.seed:4} {one.verdict.value:8} {one.requests:3}{inside} {one.why}\n")
            sys.stdout.flush()
    count = Counter(one.verdict for one in outcomes)
    shares = ", ".join(f"{verdict.value} {100 * count[verdict] / len(outcomes):.0f} %" for verdict in Verdict)
    most = max(one.requests for one in outcomes)
    sys.stdout.write(f"{len(outcomes)} layouts: {shares}; requests at most {most}\n")


if __name__ == "__main__":
    main()
