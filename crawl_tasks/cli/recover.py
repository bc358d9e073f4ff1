"""`crawl-tasks recover`: the rebuild of an emptied or damaged Redis from the database."""

from __future__ import annotations

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.terminal import examples
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.operate.ledger import can_recover, recover
from crawl_tasks.operate.local_environment import redis_for
from crawl_tasks.recovery.rebuild import Rebuilt
from crawl_tasks.settings import load_settings
from crawl_tasks.store.upsert import Store


@click.command(epilog=examples("crawl-tasks recover", "crawl-tasks recover --force"))
@click.option(
    "--force", is_flag=True, help="Rebuild even though Redis holds this crawl, for example when single keys were lost."
)
def command(force: bool) -> None:
    """Rebuild the guard and the ledger from the database when Redis was emptied. Workers may run meanwhile.

    Pages that were admitted and not done are fetched, and pages that were done are known. Boards keep their schedule,
    but with --force each is scanned at once, to its end. Counters begin at 0. Dead and parked pages are tried again.
    """
    settings = load_settings()
    # Starts the embedded Redis where none runs: after a loss it may well have been stopped.
    with (
        Interrupts() as interrupts,
        redis_for(settings, interrupts) as url,
        Store(settings.database_url) as store,
    ):
        cells = open_cells(settings.model_copy(update={"redis_url": url}))
        if not can_recover(cells, store):
            click.echo("the database holds nothing to rebuild from; to begin: crawl-tasks sites check")
            return
        done: list[Rebuilt] = []

        def report(rebuilt: Rebuilt) -> None:
            done.append(rebuilt)
            click.echo(
                f"{rebuilt.site}: {rebuilt.ready} requests are open again, {rebuilt.known} pages are known,"
                f" {rebuilt.boards} boards keep their schedule"
            )

        recover(cells, store, settings.contact, report, is_forced=force)
        if not done:
            click.echo("nothing is lost: Redis holds the ledger that the database was filled from; --force rebuilds it")
