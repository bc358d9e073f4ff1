"""`crawl-tasks exporter`: metrics for Prometheus and the status page."""

from __future__ import annotations

import errno
import gc

import click

from crawl_tasks.cli.backend import open_frontier
from crawl_tasks.cli.helptext import examples
from crawl_tasks.errors import ConfigError
from crawl_tasks.local.interrupts import Interrupts
from crawl_tasks.logs import configure_logs
from crawl_tasks.monitor.lookout import Lookout
from crawl_tasks.settings import load_settings
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.login import Login
from crawl_tasks.web.look import Look
from crawl_tasks.web.server import WatchServer

PORT = 9817


class Address(click.ParamType[tuple[str, int]]):
    """HOST:PORT, or PORT alone for this machine only."""

    name = "host:port"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Read an address."""
        host, _, port = value.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            self.fail(f"{value!r} is no HOST:PORT with a port up to 65535", param, ctx)
        return host.strip("[]") or "127.0.0.1", int(port)


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "is another exporter there? choose another port"
        case errno.EACCES:
            return "ports below 1024 are for root; choose another port"
    return "name an address of this machine, or 0.0.0.0 for all of them"


@click.command(epilog=examples("crawl-tasks exporter", "crawl-tasks exporter --listen 0.0.0.0:9817"))
@click.option("--listen", type=Address(), default=f"127.0.0.1:{PORT}", show_default=True, help="Where to serve.")
@click.option(
    "--flower", metavar="URL", default="http://127.0.0.1:5555", show_default=True, help="Where the page's link leads."
)
def command(listen: tuple[str, int], flower: str) -> None:
    """Serve a status page at /, metrics for Prometheus at /metrics, the snapshot as JSON at /api/snapshot.

    It only watches: killed, it changes nothing for the crawl. Pausing, resuming and retrying in the page take the
    password of CRAWL_WEB_PASSWORD; without one the page only shows.
    """
    settings = load_settings()
    frontier = open_frontier(settings)
    gc.set_threshold(50_000, 20, 100)  # a snapshot of 1,000 sites is many small objects, and no rings
    look = Look(Lookout(frontier).look)
    try:
        server = WatchServer(listen, look, Actions(frontier), Login(settings.web_password), flower)
    except OSError as error:
        raise ConfigError(f"--listen {listen[0]}:{listen[1]}: {error.strerror}; {_remedy(error)}") from error
    configure_logs(settings.log_format)
    with Interrupts(), server:
        click.echo(f"http://{listen[0]}:{server.server_address[1]}/; Ctrl-C ends it")
        server.serve()
