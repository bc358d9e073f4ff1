"""`crawl-tasks bench`: a measured crawl of a local forum, by `crawl_tasks/bench/`."""

from __future__ import annotations

import click

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError


@click.command(epilog=examples("crawl-tasks bench", "crawl-tasks bench --client curl --processes 1 --together"))
@click.option("--client", type=click.Choice(["requests", "curl"]), default="requests", show_default=True)
@click.option(
    "--processes",
    metavar="N",
    type=click.IntRange(1, 64),
    default=2,
    show_default=True,
    help="Number of fetching processes.",
)
@click.option(
    "--apart/--together", default=True, show_default=True, help="Store in a separate process, or in the first one."
)
@click.option("--threads", metavar="N", type=click.IntRange(1, 256), default=8, show_default=True,
              help="Pages that a process fetches at once.")  # fmt: skip
@click.option(
    "--latency-ms",
    metavar="MS",
    type=click.IntRange(0, 10_000),
    default=0,
    show_default=True,
    help="Latency of the forum.",
)
@click.option(
    "--size",
    type=click.Choice(["demo", "bench", "long"]),
    default="bench",
    show_default=True,
    help="Size of the forum: 340, 5,500 or 50,000 pages.",
)
@click.option("--pin/--no-pin", default=True, show_default=True, help="Keep each fetching process on one CPU.")
@click.option("--footprint", metavar="N", type=click.IntRange(0, 50_000_000), default=200_000, show_default=True,
              help="Number of requests to measure in Redis. 0 skips this.")  # fmt: skip
@click.pass_context
def command(ctx: click.Context, /, **plan: str | int) -> None:
    """Crawl a forum of about 5,000 pages on this machine and print the cost."""
    try:
        from crawl_tasks.bench.measure import bench  # noqa: PLC0415 (psutil is of an extra)
    except ImportError as error:
        raise ConfigError(f"bench: {error}: pip install 'crawl-tasks[all]'") from error
    is_right = bench(**plan)  # type: ignore[arg-type]  # click has checked them
    ctx.exit(Exit.OK if is_right else Exit.FAILURES)
