"""`python -m tests.isolation`: the time of a forum's good pages beside bad ones, against their time alone."""

from __future__ import annotations

import argparse
import logging
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from crawl_tasks.frontier.redis_client import open_client
from crawl_tasks.local.redis_server import RedisServer
from tests.isolation.bad_pages import FAULTS, Plan, Result, crawl


def main() -> int:
    """Crawl without and with bad pages, and end with 1 where they cost the others more than they may."""
    logging.disable(logging.WARNING)
    parser = argparse.ArgumentParser(prog="python -m tests.isolation", description=__doc__)
    parser.add_argument("fault", nargs="*", metavar="FAULT", help=f"of {', '.join(FAULTS)} (default: drip)")
    for name in ("good", "bad", "window"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Plan(), name), help="(default: %(default)s)")
    parser.add_argument("--deadline", type=float, default=Plan().deadline_s, help="seconds (default: %(default)s)")
    said = parser.parse_args()
    if unknown := set(said.fault) - FAULTS.keys():
        parser.error(f"there is no fault {', '.join(sorted(unknown))}; there are {', '.join(FAULTS)}")
    plan = Plan(said.good, said.bad, window=said.window, deadline_s=said.deadline)
    alone = _crawl(replace(plan, bad=0))
    sys.stdout.write(f"{plan.good} good pages alone: {alone.took_s:.1f} s\n")
    too_slow = False
    for fault in said.fault or [plan.fault]:
        beside = _crawl(replace(plan, fault=fault))
        allowed_s = 2 * alone.took_s + plan.deadline_s
        too_slow |= beside.took_s > allowed_s
        sys.stdout.write(f"beside {plan.bad} of {fault}: {beside.took_s:.1f} s, allowed {allowed_s:.1f} s\n")
    return int(too_slow)


def _crawl(plan: Plan) -> Result:
    with (
        TemporaryDirectory(prefix="crawl-isolation-") as name,
        RedisServer(Path(name)) as server,
        open_client(server.url, "") as client,
    ):
        return crawl(client, plan)


sys.exit(main())
