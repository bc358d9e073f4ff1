"""`crawl-tasks recover`: Redis was emptied, or lost what it held; the database knows the way back."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.station import redis_for
from crawl_tasks.local.interrupts import Interrupts
from crawl_tasks.recovery.ledgers import is_lost
from crawl_tasks.recovery.rebuild import Rebuilder, Rebuilt, known_sites
from crawl_tasks.settings import load_settings
from crawl_tasks.store.upsert import Store


@click.command(epilog=examples("crawl-tasks recover", "crawl-tasks recover --force"))
@click.option("--force", is_flag=True, help="Rebuild although Redis holds this crawl, as when single keys were lost.")
def command(force: bool) -> None:
    """Build guard and ledger anew from the database when Redis was emptied; workers may run meanwhile.

    What was admitted and not done is fetched, what was done is known. Boards keep their schedule, but
    with --force each is scanned at once, to its end. Counters begin at 0; what was dead or parked is tried again.
    """
    settings = load_settings()
    with (
        Interrupts() as interrupts,
        redis_for(settings, interrupts) as url,
        Store(settings.database_url) as store,
    ):
        frontier = open_frontier(settings.model_copy(update={"redis_url": url}))
        if store.epoch() is None:
            click.echo("the database holds nothing to rebuild from; to begin: crawl-tasks sites check")
            return
        if not (force or is_lost(frontier, store)):
            click.echo("nothing is lost: Redis holds the ledger that the database was filled from; --force rebuilds it")
            return
        Rebuilder(frontier, store, settings.contact).run(known_sites(frontier, store), _report, walk=force)


def _report(rebuilt: Rebuilt) -> None:
    click.echo(
        f"{rebuilt.site}: {rebuilt.ready} requests are open again, {rebuilt.known} pages are known,"
        f" {rebuilt.boards} boards keep their schedule"
    )
