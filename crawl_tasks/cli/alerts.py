"""`crawl-tasks alerts`: messages to people for those who have no Alertmanager."""

from __future__ import annotations

import sys

import click

from crawl_tasks.alerts.conditions import Alert, find_alerts
from crawl_tasks.alerts.herald import HOLD_MS, Herald
from crawl_tasks.alerts.receivers import News, read_receivers, text_of
from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.local.interrupts import Interrupts
from crawl_tasks.logs import configure_logs
from crawl_tasks.monitor.lookout import Lookout
from crawl_tasks.settings import load_settings

_HOUR_MS = 3_600_000


@click.command(epilog=examples("crawl-tasks alerts --once", "CRAWL_ALERT_TO=slack+https://... crawl-tasks alerts"))
@click.option("--to", metavar="ADDRESSES", help="Where to send, in place of CRAWL_ALERT_TO.")
@click.option("--once", is_flag=True, help="Look once and end, for cron: what needs two looks is left out.")
@click.pass_context
def command(ctx: click.Context, to: str | None, once: bool) -> None:
    """Look for trouble until Ctrl-C; send each alert when it begins, every few hours while it lasts, and when it ends.

    Without an address alerts are only printed, and --once prints all that is wrong now; exit code 1 when anything is.
    Start two if you like: each alert is sent by one of them.
    """
    settings = load_settings()
    configure_logs(settings.log_format)
    frontier = open_frontier(settings)
    receivers = read_receivers(
        settings.alert_to.get_secret_value() if to is None else to, settings.alert_dingtalk_secret.get_secret_value()
    )
    if once and not receivers:
        ctx.exit(_say_all(find_alerts(Lookout(frontier).look(), None)))
    herald = Herald(
        Lookout(frontier).look,
        frontier.alarms,
        receivers,
        settings.redis_prefix,
        repeat_ms=round(settings.alert_repeat_h * _HOUR_MS),
        hold_ms=0 if once else HOLD_MS,
    )
    with Interrupts() as interrupts:
        _say(herald.look(), settings.redis_prefix)
        while not once:
            interrupts.sleep(settings.alert_every_s)
            _say(herald.look(), settings.redis_prefix)


def _say_all(found: list[Alert]) -> Exit:
    for alert in found:
        click.echo(printable(f"{alert.severity.value:<8}  {alert.name}: {alert.summary}; {alert.remedy}"))
    if not found and sys.stdout.isatty():  # cron would send it to somebody
        click.echo("nothing is wrong now")
    return Exit.FAILURES if found else Exit.OK


def _say(news: list[News], installation: str) -> None:
    if news:
        for line in text_of(news, installation).splitlines():
            click.echo(printable(line))
