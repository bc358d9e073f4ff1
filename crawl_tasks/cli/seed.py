"""`crawl-tasks seed`: admits boards, posts and addresses that a person names, by the same guard as all requests."""

from __future__ import annotations

from itertools import chain
from typing import TextIO

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.selection_options import SinceOption
from crawl_tasks.cli.terminal import examples, named_addresses
from crawl_tasks.logs import printable
from crawl_tasks.model import Reach
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.operate.seed import SeedRun
from crawl_tasks.settings import load_settings


@click.command(
    epilog=examples(
        "crawl-tasks seed demo --board 3 --pages 2",
        "crawl-tasks seed demo --post 1042 --post 1043",
        "crawl-tasks seed demo --url http://127.0.0.1:8765/comment/1042/2",
        "crawl-tasks seed demo --post 1042 --whole     # again, all its pages",
        "crawl-tasks seed demo - < addresses.txt",
        "crawl-tasks seed demo --read-by 1f6c0a2b       # again, what that version of the site file read",
    )
)
@click.argument("site")
@click.argument("addresses", required=False, type=click.File("r", encoding="utf-8", errors="replace"))
@click.option(
    "--board", "boards", multiple=True, metavar="ID", help="Walk over a board now, from its first page to its last."
)
@click.option("--post", "posts", multiple=True, metavar="ID", help="Fetch a post.")
@click.option("--url", "urls", multiple=True, metavar="URL", help="Fetch an address of the site.")
@click.option(
    "--read-by", multiple=True, metavar="VERSION", help="Fetch again what this version of the site file read."
)
@click.option("--again", is_flag=True, help="Also fetch known posts and addresses, as dont_filter does.")
@click.option("--whole", is_flag=True, help="Read threads from their first page to the last, as a full pass does.")
@click.option("--pages", metavar="N", type=click.IntRange(1, 100_000), help="Read at most N list pages of a board.")
@click.option(
    "--since", type=SinceOption(), help="Read only threads of a board with posts since then, as 7d or 2026-01-31."
)
@click.option(
    "--priority",
    metavar="0-9",
    type=click.IntRange(0, 9),
    help="Priority. The default is 2 for boards and --read-by, else 9.",
)
@click.pass_context
def command(
    ctx: click.Context, site: str, addresses: TextIO | None, *, boards: tuple[str, ...], posts: tuple[str, ...],
    urls: tuple[str, ...], read_by: tuple[str, ...], again: bool, whole: bool, pages: int | None, since: int | None,
    priority: int | None,
) -> None:  # fmt: skip
    """Ask for pages of SITE. ADDRESSES is a file with one address a line, # begins a comment, - is standard input.

    A page is fetched the first time you name it here, even if a scan has fetched it before. After that it is known, and
    you need --again or --whole. A board is always walked again. --read-by fetches again what an older version of the
    site file read, for example after you mended a rule. Requests above the site's max_backlog are refused. The exit
    code is 1 when anything was refused.
    """
    if not (boards or posts or urls or addresses or read_by):
        raise click.UsageError(
            "name what to fetch: --board, --post, --url, --read-by, or a file of addresses (- is standard input)"
        )
    if whole and boards:
        raise click.UsageError("--whole is of threads: name posts or addresses, no --board")
    seed_run = SeedRun(
        open_cells().of(site),
        site,
        priority,
        Reach(pages or 0, since or 0),
        is_again=again or whole,
        is_whole=whole,
    )
    refused = 0
    targets = {"board": boards, "post": posts, "url": chain(urls, named_addresses(addresses or ()))}
    for kind, texts in targets.items():
        for text in texts:
            is_taken, verdict = seed_run.ask(kind, text)
            refused += not is_taken
            click.echo(f"{verdict}: {kind} {printable(text)}")
    for version in read_by:
        refused += _ask_again(seed_run, version)
    if refused:
        click.echo(f"crawl-tasks: {refused} refused", err=True)
        ctx.exit(Exit.FAILURES)


def _ask_again(seed_run: SeedRun, version: str) -> int:
    """Admit the pages that a version of the site file read, and return the number of refused ones."""
    admitted, refused = seed_run.ask_read_by(version, load_settings().database_url)
    click.echo(f"admitted: {counted(admitted, 'page')} that {printable(version)} read")
    if refused:
        click.echo(f"refused, gate.max_backlog is reached: {counted(refused, 'page')}; again when the others are read")
    return refused
