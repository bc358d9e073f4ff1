"""`crawl-tasks redis`: the embedded Redis of the state directory in the foreground, for workers started by hand."""

from __future__ import annotations

import time

import click

from crawl_tasks.cli.terminal import examples
from crawl_tasks.local.embedded import EmbeddedRedis
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.logs import hide_passwords
from crawl_tasks.settings import load_settings


@click.command(
    epilog=examples(
        "crawl-tasks redis --port 6390",
        "celery -A crawl_tasks worker -Q list      # in another terminal: finds it by itself",
    )
)
@click.option(
    "--port", metavar="PORT", type=click.IntRange(0, 65535), default=0, help="Port on 127.0.0.1. 0 takes a free one."
)
def command(port: int) -> None:
    """Run the embedded Redis of the state directory until Ctrl-C.

    Meanwhile its address with its password is in STATE_DIR/redis.url, where the commands and workers of this directory
    find it.
    """
    state_dir = load_settings().state_dir
    with Interrupts() as interrupts, EmbeddedRedis(state_dir, interrupts, port) as server:
        click.echo(f"{hide_passwords(server.url)} (data in {server.directory}); Ctrl-C ends it")
        while server.is_running():
            time.sleep(0.5)
