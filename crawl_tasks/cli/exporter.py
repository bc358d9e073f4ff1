"""`crawl-tasks exporter`: metrics for Prometheus and the status page."""

from __future__ import annotations

import errno
import gc
from contextlib import closing
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Final

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.admin.history_store import HistoryStore
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.logs import configure_logs
from crawl_tasks.monitor.cell_snapshots import CellSnapshots
from crawl_tasks.monitor.output_language import use_language
from crawl_tasks.monitor.problems.alert_rules import rules_file
from crawl_tasks.operate.failed import kept_fields
from crawl_tasks.permissions import write_public
from crawl_tasks.settings import load_settings
from crawl_tasks.store.item_reader import ItemReader
from crawl_tasks.web.actions import Actions
from crawl_tasks.web.item_pages import ItemPages
from crawl_tasks.web.login import Login
from crawl_tasks.web.server import ExporterServer
from crawl_tasks.web.snapshot_cache import SnapshotCache

PORT = 9817
REPLY_S: Final = 4.0
"""Time in seconds for which a cell that hangs is waited for. Prometheus waits for 10 s, also for a second look."""


class Address(click.ParamType[tuple[str, int]]):
    """The option type HOST:PORT. PORT alone means loopback."""

    name = "host:port"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        """Return host and port."""
        host, _, port = value.rpartition(":")
        if not (port.isascii() and port.isdigit()) or int(port) > 65535:
            self.fail(f"{value!r} is no HOST:PORT with a port up to 65535", param, ctx)
        return host.strip("[]") or "127.0.0.1", int(port)


def _remedy(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return "is another exporter there? choose another port"
        case errno.EACCES:
            return "ports below 1024 are for root; choose another port"
    return "name an address of this machine, or 0.0.0.0 for all of them"


@click.command(
    epilog=examples(
        "crawl-tasks exporter",
        "crawl-tasks exporter --listen 0.0.0.0:9817",
        "crawl-tasks exporter --files monitoring    # rules.yml and dashboard.json",
    )
)
@click.option("--listen", type=Address(), default=f"127.0.0.1:{PORT}", show_default=True, help="Address to serve at.")
@click.option("--files", metavar="DIR", type=click.Path(file_okay=False, path_type=Path),
              help="Write the alert rules for Prometheus and the dashboard for Grafana to DIR, and end.")  # fmt: skip
@click.option(
    "--flower",
    metavar="URL",
    default="http://127.0.0.1:5555",
    show_default=True,
    help="Address of the page's link to Flower.",
)
def command(listen: tuple[str, int], files: Path | None, flower: str) -> None:
    """Serve a status page at /, metrics for Prometheus at /metrics, the snapshot as JSON at /api/snapshot.

    The crawl does not depend on the exporter. You pause, resume and retry on the page with the password of
    CRAWL_WEB_PASSWORD. Without a password the page only shows, and it shows stored texts on loopback only.
    """
    settings = load_settings()
    use_language(settings.language)
    if files is not None:
        write_files(files)
        return
    cells = open_cells(settings, stays=True, reply_s=REPLY_S)
    # A snapshot of 1,000 sites is many small objects without cycles, which the collector would walk over for nothing.
    gc.set_threshold(50_000, 20, 100)
    snapshots = SnapshotCache(CellSnapshots(cells).look, charts=HistoryStore(*cells.by_name.values()))
    reader = ItemReader(settings.database_url, settings.state_dir / "search.db")
    try:
        login, hosts = Login(settings.web_password), settings.web_hosts.split()
        actions = Actions(cells, settings.database_url, partial(kept_fields, cells, settings))
        server = ExporterServer(listen, snapshots, actions, login, flower, hosts, ItemPages(reader))
    except OSError as error:
        raise ConfigError(f"--listen {listen[0]}:{listen[1]}: {error.strerror}; {_remedy(error)}") from error
    configure_logs(settings.log_format)
    with Interrupts(), server, closing(reader):
        click.echo(f"http://{listen[0]}:{server.server_address[1]}/; Ctrl-C ends it")
        server.serve()


def write_files(directory: Path) -> None:
    """Write the alert rules of Prometheus and the dashboard of Grafana.

    Raises:
        ConfigError: the directory cannot be written.
    """
    dashboard = (resources.files("crawl_tasks.web") / "dashboard.json").read_text("utf-8")
    try:
        for name, text in (("rules.yml", rules_file()), ("dashboard.json", dashboard)):
            write_public(directory / name, text)
            click.echo(directory / name)
    except OSError as error:
        raise ConfigError(f"--files {directory}: {error.strerror}; name a directory that you may write to") from error
