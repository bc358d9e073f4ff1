"""`python -m tests.chaos`: run the rows, print the table, and end with 1 when a goal is missed."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from crawl_tasks.errors import CrawlError
from tests.chaos import (
    archived,
    beside,
    calls,
    crews,
    deliveries,
    fuzz,
    keys,
    kills,
    manners,
    outages,
    poison,
    servers,
    stops,
)
from tests.chaos.rows import SCALES, Row, Scale, table

Part = Callable[[Scale, int], list[Row]]

PARTS: dict[str, Part] = {
    "kills": kills.run,
    "archive": archived.run,
    "calls": calls.run,
    "deliveries": deliveries.run,
    "stops": stops.run,
    "deaths": servers.deaths,
    "cuts": servers.cuts,
    "floods": servers.floods,
    "losses": servers.losses,
    "keys": keys.run,
    "holes": outages.holes,
    "loads": outages.loads,
    "snapshots": outages.snapshots,
    "failovers": outages.failovers,
    "threshold": manners.threshold,
    "backlog": manners.backlog,
    "slots": manners.slots,
    "politeness": manners.politeness,
    "poison": poison.run,
    "crews": crews.run,
    "fuzz": fuzz.run,
    "beside": beside.run,
}

CHANGING = ("kills", "calls", "deliveries", "stops", "deaths", "cuts", "floods", "keys")
"""Parts whose forum can change while it is crawled."""

AT_REST = "true after the forum's rest and one full pass"
COMPARISON = "beside"
"""Not part of the short form unless it is named."""


def of_truth(row: Row) -> Row:
    """Say of a row in which the forum changed what counts there: fetches do not."""
    if row.size == "-":  # skipped
        return row
    said = f"{len(row.faults)} differences" if row.faults else AT_REST
    return replace(row, figure=f"{row.figure}, the forum changing", result=said, goal=AT_REST)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description="Faults on purpose, counted.")
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; else all (beside: not in short)"
    )
    parser.add_argument("--middle", dest="scale", action="store_const", const="middle", help="50 deaths at each point")
    parser.add_argument(
        "--long", dest="scale", action="store_const", const="long", help="more than 10,000 deaths; hours"
    )
    parser.add_argument(
        "--changing", action="store_true", help=f"the forum changes meanwhile; of {', '.join(CHANGING)}"
    )
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (default: %(default)s)")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if options.changing and (others := set(options.parts) - set(CHANGING)):
        parser.error(f"no forum changes in {', '.join(sorted(others))}; it can in {', '.join(CHANGING)}")
    scale = replace(SCALES[options.scale or "short"], is_changing=options.changing)
    usual = CHANGING if options.changing else [part for part in PARTS if part != COMPARISON or options.scale]
    logging.disable(logging.CRITICAL)  # what the crawler says of the faults that it survives
    rows: list[Row] = []
    for name in options.parts or usual:
        began = time.monotonic()
        try:
            found = PARTS[name](scale, options.seed)
            rows += map(of_truth, found) if options.changing else found
        except (AssertionError, CrawlError) as error:  # a finding: the other parts are worth knowing
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{str(error)[:600] or where.line} ({Path(where.filename).name}:{where.lineno})"
            rows.append(Row(name, "-", "broken off", "to end", (said,)))
        sys.stderr.write(f"{name}: {time.monotonic() - began:.1f} s\n")
    sys.stdout.write(f"{table(rows)}\n")
    faults = [f"{row.figure}: {fault}" for row in rows for fault in row.faults]
    sys.stderr.writelines(f"FAULT {fault}\n" for fault in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
