"""Workers that die while they archive: each committed page is in the archive once, and other readers read each file."""

from __future__ import annotations

import sqlite3
from argparse import Namespace
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from shutil import rmtree

from fastwarc import ArchiveIterator
from warcio.checker import Checker

from crawl_tasks.fetch.archive_reader import archive_files, read_archive
from crawl_tasks.fetch.web_archive import Archive
from crawl_tasks.sites.schema import Site
from tests.chaos.ground import LEASE_MS, SITE, Ground, Verdict, new_ground
from tests.chaos.kills import Gauntlet, orders
from tests.chaos.points import ARCHIVE_POINTS
from tests.chaos.rows import Row, Scale

# Each commit of a page leaves the time of that observation in the rows.
OBSERVED = "select seen_at from posts where fetched_at is not null union select seen_at from comments"


class ArchivingGround(Ground):
    """A ground whose site has an archive; a file is completed after each second."""

    pages = files = 0

    def begin(self, lease_ms: int = LEASE_MS, **gate: object) -> Site:
        """Begin a crawl with an empty archive."""
        self.nursery.kill_all()
        rmtree(self.archive, ignore_errors=True)
        return super().begin(lease_ms, **gate)

    def publish_site(self, site: Site, lease_ms: int = LEASE_MS) -> None:
        """Publish a site file with an archive."""
        super().publish_site(site.model_copy(update={"archive": True}), lease_ms)

    @property
    def archive(self) -> Path:
        """Return the directory of the archive."""
        return self.world.directory / "archive"

    def judge(self) -> Verdict:
        """Judge the crawl, and hold the database against the archive."""
        verdict = super().judge()
        self.nursery.kill_all()
        return replace(verdict, faults=(*verdict.faults, *self._archive_faults()))

    def _archive_faults(self) -> list[str]:
        """Return what is wrong with the archive after one more start."""
        faults: list[str] = []
        Archive(self.archive, file_bytes=1 << 30, file_s=3600, free_bytes=0).close()
        seen: Counter[float] = Counter()
        for path in archive_files(self.archive, SITE):
            self.files += 1
            if path.suffix != ".gz":
                faults.append(f"{path.name} is not complete")
            pages = list(read_archive(path))
            seen.update(page.page.seen_at for page in pages)
            with path.open("rb") as file:
                found = Counter(record.headers["WARC-Type"] for record in ArchiveIterator(file, verify_digests=True))
            if found["metadata"] != len(pages) or Checker(Namespace(inputs=[str(path)], verbose=False)).process_all():
                faults.append(f"{path.name} is not read to its end")
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as connection, connection:
            observed = [at for (at,) in connection.execute(OBSERVED)]
        self.pages += len(observed)
        return faults + [
            f"what was seen at {at} is in the archive {seen[at]} times" for at in observed if seen[at] != 1
        ]


def run(scale: Scale, seed: int) -> list[Row]:
    """Kill workers at every point of the archive."""
    with new_ground(kind=ArchivingGround, CRAWL_ARCHIVE_FILE_S="1", CRAWL_ARCHIVE_FREE_BYTES="0") as ground:
        assert isinstance(ground, ArchivingGround)
        ground.forum("--latency-ms", "10")
        gauntlet = Gauntlet(ground, orders(scale.kills, seed, ARCHIVE_POINTS))
        gauntlet.run()
    missed = [point.name for point in ARCHIVE_POINTS if gauntlet.hits[point.name] < scale.kills]
    return [
        Row(
            f"SIGKILLs of workers over {len(ARCHIVE_POINTS)} kill points of the archive",
            f"{gauntlet.hits.total()} kills, at least {min(gauntlet.hits.values())} at each point;"
            f" {gauntlet.pages:,} pages in {gauntlet.crawls} crawls",
            f"{ground.pages:,} observations in the database, each once in {ground.files:,} files that two readers"
            f" read to the end; {gauntlet.extra} extra fetches",
            "each once, all readable, at most 1 extra fetch a kill",
            (*gauntlet.faults, *(f"not hit often enough: {name}" for name in missed)),
        )
    ]
