"""`python -m tests.faulty`: the demo forum as a process, with the faults that `--fault` names."""

from __future__ import annotations

import argparse
import sys
from functools import partial

from crawl_tasks.demo.__main__ import build_parser, run
from tests.faulty.faults import Fault, FaultKind
from tests.faulty.server import FaultyServer


def main() -> int:
    """Serve until a signal comes. Return the exit code."""
    parser = build_parser()
    parser.add_argument(
        "--fault",
        type=read_fault,
        action="append",
        default=[],
        metavar="'KIND PATTERN [name=value ...]'",
        help="e.g. 'too_many /post/.* times=1 retry_after_s=2'; may be repeated; kinds: " + ", ".join(FaultKind),
    )
    parser.prog = "python -m tests.faulty"
    options = parser.parse_args()
    return run(options, partial(FaultyServer, faults=options.fault))


def read_fault(text: str) -> Fault:
    """Return a fault from its text, for argparse."""
    try:
        return Fault.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
