"""The place of the demo, apart from other crawls, and its result beside the ground truth."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from crawl_tasks.errors import ConfigError
from crawl_tasks.local.compare import Comparison, compare_with_truth, needless_requests, requests_by_path
from crawl_tasks.local.demo_forum import ForumFiles
from crawl_tasks.local.embedded import URL_FILE, end_left_over
from crawl_tasks.local.state_lock import StateLock
from crawl_tasks.monitor.cell_snapshots import snapshot_cells
from crawl_tasks.monitor.snapshot import Snapshot
from crawl_tasks.operate.connection import connect_cells, is_redis_configured
from crawl_tasks.operate.crawl import Finish, Start
from crawl_tasks.operate.crawl_session import CrawlEnd
from crawl_tasks.operate.local_environment import LocalEnvironment
from crawl_tasks.operate.stored_counts import StoredCounts
from crawl_tasks.operate.summary import Stats, crawl_stats, is_clean
from crawl_tasks.settings import Settings
from crawl_tasks.sites.crawl_policy import Interval
from crawl_tasks.sites.schema import Site
from crawl_tasks.store.export import export
from crawl_tasks.store.queries import counts
from crawl_tasks.store.selection import RowSelection
from crawl_tasks.store.upsert import Store

ONE_SCAN = Interval(min_s=3600, start_s=3600, max_s=3600)
"""The scan interval of the demo, longer than a run. A second scan within a run would blur the count of requests."""


def demo_settings(settings: Settings) -> Settings:
    """Return settings with a state directory, and so a Redis and database, of the demo unless others are set."""
    state_dir = settings.state_dir / "demo"
    # The forum is on a port of this machine that no site file names.
    changed: dict[str, object] = {"state_dir": state_dir, "private_hosts": f"{settings.private_hosts} 127.0.0.1"}
    if "database_url" not in settings.model_fields_set:
        changed["database_url"] = f"sqlite:///{state_dir.absolute() / 'crawl.db'}"
    return settings.model_copy(update=changed)


def at_address(site: Site, base: str) -> Site:
    """Return the site of the demo at the address of the forum, to be scanned once."""
    return site.relocated(base).model_copy(update={"interval": ONE_SCAN})


def start_anew(settings: Settings) -> None:
    """Empty the state directory of the demo.

    Raises:
        ConfigError: a demo or the Redis of one runs there, or the directory cannot be emptied.
    """
    state_dir = settings.state_dir
    with (
        StateLock(state_dir / "crawl.lock", "a crawl runs here"),
        StateLock(state_dir / "redis.lock", "its Redis runs"),
    ):
        end_left_over(state_dir / URL_FILE)
        for entry in state_dir.iterdir():
            # Both locks are held here. A deleted lock file would let another process take a new one of the same name.
            if entry.suffix == ".lock":
                continue
            try:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            except OSError as error:
                raise ConfigError(f"{entry}: cannot be removed: {error.strerror}; remove it by hand") from error


def require_own_backends(configured: Settings, *, fresh: bool) -> None:
    """Refuse a configured Redis that serves other sites, and a reset of a configured Redis or database in use.

    Raises:
        ConfigError: the configured Redis or database serves something else. Nothing was changed.
    """
    if is_redis_configured(configured):
        published = connect_cells(configured).sites()
        if set(published) - {"demo"} or (fresh and published):
            raise ConfigError(
                f"CRAWL_REDIS_URL: {configured.redis_url} serves {', '.join(published)} already;"
                " unset it for the demo, or give it an empty database (redis://HOST:PORT/5)"
            )
    if fresh and "database_url" in configured.model_fields_set:
        with Store(configured.database_url) as store:
            if counts(store, "demo"):
                raise ConfigError(
                    f"CRAWL_DATABASE_URL: {configured.database_url} holds a demo already, and --fresh empties only"
                    " the demo's own directory; unset it, or name an empty database"
                )


@dataclass(frozen=True, slots=True)
class Asked:
    """The requests of this run by the forum's own access log, with the number of pages of the forum.

    `repeated` counts further requests of a page, but for those that find a listed page gone.
    """

    pages: int
    by_path: Counter[str]
    repeated: Counter[str]

    @property
    def requests(self) -> int:
        """Count the requests."""
        return self.by_path.total()


def asked_pages(files: ForumFiles) -> Asked:
    """Return the requests by the forum's access log, and the number of pages of the forum."""
    # The forum's own log is the independent witness: our counters could be wrong in the same way as the crawl.
    truth = json.loads(files.truth.read_text("utf-8"))
    return Asked(len(truth["paths"]), requests_by_path(files.log), needless_requests(files.log))


@dataclass(frozen=True, slots=True)
class DemoResult:
    """The result of a demo run. The comparisons are by kind of row, `export` is a file of `exported_rows` rows."""

    finish: Finish
    flower: str
    start: Start
    stats: Stats
    comparisons: Mapping[str, Comparison]
    end: Snapshot
    asked: Asked
    database: str
    export: Path
    exported_rows: int

    @property
    def is_right(self) -> bool:
        """Return whether the database equals the ground truth and every ledger balances."""
        return all(comparison.is_equal for comparison in self.comparisons.values()) and is_clean(self.end)


def demo_result(here: LocalEnvironment, files: ForumFiles, stored: StoredCounts, ended: CrawlEnd) -> DemoResult:
    """Export what is stored, compare it with the ground truth, and return that with the statistics.

    Raises:
        KeyboardInterrupt: the crawl was interrupted before it began.
    """
    if ended.start is None:
        raise ended.stopped_by or KeyboardInterrupt
    end = snapshot_cells(here.cells, here.cells.find(["demo"]))
    export_file = here.settings.state_dir / "export.jsonl"
    with Store(here.settings.database_url) as store:
        rows = export(store, str(export_file), RowSelection(sites=["demo"]))
        comparisons = compare_with_truth(store, "demo", files.truth)
    return DemoResult(
        finish=ended.finish,
        flower=ended.flower,
        start=ended.start,
        stats=crawl_stats(ended.start, end, stored.now(), ended.finish),
        comparisons=comparisons,
        end=end,
        asked=asked_pages(files),
        database=here.settings.database_url,
        export=export_file,
        exported_rows=rows,
    )
