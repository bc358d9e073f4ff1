"""`crawl-tasks alerts`: the notifier for installations without an Alertmanager."""

from __future__ import annotations

from contextlib import suppress

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import BackendError
from crawl_tasks.frontier.admin.alert_state import AlertState
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.logs import configure_logs, printable
from crawl_tasks.monitor.alerts.notifier import Notifier
from crawl_tasks.monitor.alerts.receivers import read_receivers, text_of
from crawl_tasks.monitor.cell_snapshots import CellSnapshots
from crawl_tasks.monitor.output_language import use_language
from crawl_tasks.settings import load_settings

_HOUR_MS = 3_600_000


@click.command(
    epilog=examples("crawl-tasks alerts --to slack+https://...", "CRAWL_ALERT_TO=slack+https://... crawl-tasks alerts")
)
@click.option("--to", metavar="ADDRESSES", help="Addresses to send to, in place of CRAWL_ALERT_TO.")
def command(to: str | None) -> None:
    """Watch for problems until Ctrl-C. Send each alert at its begin, every few hours while it lasts, and at its end.

    Without an address alerts are only printed. You may start two of these processes: only one of them sends each alert.
    To see all present problems at once, use crawl-tasks check.
    """
    settings = load_settings()
    configure_logs(settings.log_format)
    use_language(settings.language)
    cells = open_cells(settings, stays=True)
    receivers = read_receivers(
        settings.alert_to.get_secret_value() if to is None else to, settings.alert_dingtalk_secret.get_secret_value()
    )
    alert_state = AlertState(*(frontier.scripts for frontier in cells.by_name.values()))
    notifier = Notifier(
        CellSnapshots(cells).look,
        alert_state,
        receivers,
        settings.redis_prefix,
        repeat_ms=round(settings.alert_repeat_h * _HOUR_MS),
        every_ms=round(settings.alert_every_s * 1000),
    )
    with Interrupts() as interrupts:
        try:
            while True:
                news = notifier.look()
                for line in text_of(news, settings.redis_prefix).splitlines() if news else ():
                    click.echo(printable(line))
                interrupts.sleep(settings.alert_every_s)
        except KeyboardInterrupt:
            # A sender that was killed is missed: it never gets here.
            with suppress(BackendError):
                alert_state.leave()
            raise
