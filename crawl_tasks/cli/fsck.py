"""`crawl-tasks fsck`: guard, ledger, queues and database must agree."""

from __future__ import annotations

import json

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.recovery.fsck import EXPLAINED, Check, Finding
from crawl_tasks.settings import load_settings
from crawl_tasks.store.upsert import Store


@click.command(epilog=examples("crawl-tasks fsck", "crawl-tasks fsck --mend", "crawl-tasks fsck --json"))
@click.option("--mend", is_flag=True, help="Mend what can be mended without a rebuild.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def command(ctx: click.Context, mend: bool, as_json: bool) -> None:
    """Hold guard, ledger, queues and database against each other, while the crawl goes on.

    One line for each thing that is wrong: what, where, what to do. Exit code 1 when anything is left to do.
    """
    settings = load_settings()
    frontier = open_frontier(settings)
    with Store(settings.database_url) as store:
        found = Check(frontier, store).run(mend=mend)
    left = sum(not finding.spot.is_mended for finding in found)
    for finding in found:
        click.echo(json.dumps(_row(finding), ensure_ascii=False) if as_json else printable(str(finding), most=900))
    if not as_json:
        click.echo(f"{left} findings" if not mend else f"{len(found) - left} mended, {left} findings left")
    if left:
        ctx.exit(Exit.FAILURES)


def _row(finding: Finding) -> dict[str, str | bool]:
    what, remedy = EXPLAINED[finding.spot.flaw]
    return {
        "site": finding.site,
        "flaw": finding.spot.flaw.value,
        "what": what,
        "where": finding.spot.where,
        "mended": finding.spot.is_mended,
        "remedy": remedy,
    }
