"""`python -m crawl_tasks.demo`: the demo forum as a process, which ends cleanly on SIGTERM and SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from crawl_tasks.demo.forum import DemoForum
from crawl_tasks.demo.http_server import DemoServer
from crawl_tasks.demo.sizes import SIZES


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal comes. Return the exit code: 0, or 3 for a port or a file that cannot be had."""
    return run(build_parser().parse_args(arguments))


def run(options: argparse.Namespace, build: Callable[..., DemoServer] = DemoServer) -> int:
    """Serve with parsed options by the server that `build` makes. Return the exit code."""
    forum = DemoForum(
        options.seed, SIZES[options.size], generation=options.generation, crawl_delay_s=options.crawl_delay
    )
    if options.prerender:
        forum.prerender()
    # The forum's objects live for ever: without this each collection would walk over them and pause.
    gc.freeze()
    try:
        server = build(
            forum,
            port=options.port,
            latency_ms=options.latency_ms,
            log_file=options.log,
            truth_file=options.truth,
        )
        asyncio.run(_serve(server, forum, options.port_file))
    except OSError as error:
        sys.stderr.write(f"demo forum: {error}; choose another file, or another port (--port 0 takes a free one)\n")
        return 3
    return 0


async def _serve(server: DemoServer, forum: DemoForum, port_file: Path | None) -> None:
    end = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, end.set)

    def announce() -> None:
        if port_file is not None:
            # Written beside and renamed: a waiting reader never sees half a number.
            fresh = port_file.with_name(f".{port_file.name}.new")
            fresh.write_text(f"{server.port}\n", encoding="ascii")
            fresh.replace(port_file)
        sys.stdout.write(f"demo forum at {server.url}/ (generation {forum.generation}, {forum.date})\n")
        sys.stdout.flush()

    await server.serve(end, announce)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: write a number from 0 to 65535")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(prog="python -m crawl_tasks.demo", description="Serves a made-up forum to crawl.")
    add = parser.add_argument
    add("--port", type=_port, default=8765, help="port on 127.0.0.1; 0 takes a free one (default: %(default)s)")
    add("--seed", type=int, default=1, help="what all content grows from (default: %(default)s)")
    add(
        "--size",
        choices=sorted(SIZES),
        default="demo",
        help="demo: some 330 pages; bench: some 5,500 of 45 KB; long: 50,000",
    )
    add("--generation", type=int, default=1, help="2 and up: with so many rounds of news (default: %(default)s)")
    add("--latency-ms", type=float, default=0.0, help="added to every response (default: %(default)s)")
    add("--crawl-delay", type=float, help="seconds, written into robots.txt (default: none)")
    add("--log", type=Path, metavar="FILE", help="append a JSON line for each request")
    add("--truth", type=Path, metavar="FILE", help="write what a perfect crawl would know, as JSON")
    add("--port-file", type=Path, metavar="FILE", help="write the port when it is open")
    add("--prerender", action="store_true", help="render all pages before the port opens")
    return parser


if __name__ == "__main__":
    sys.exit(main())
