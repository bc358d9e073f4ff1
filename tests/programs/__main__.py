"""Serve a small made-up forum on loopback, for the tutorials: `python -m tests.programs smf --port 8770`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading

from tests.programs.content import small_forum
from tests.programs.host import Make, served
from tests.programs.numbered import Numbered
from tests.programs.smf import Smf

FORUMS: dict[str, Make] = {"smf": Smf, "numbered": Numbered}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.programs", description=__doc__)
    parser.add_argument("program", choices=sorted(FORUMS), help="the forum program whose pages are shown")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one (default: 0)")
    options = parser.parse_args()
    end = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end.set())
    with served(FORUMS[options.program](small_forum()), port=options.port) as host:
        sys.stdout.write(f"{options.program} forum at {host.url}/\n")
        sys.stdout.flush()
        end.wait()


if __name__ == "__main__":
    main()
