"""Discovery: from the address of an unknown forum to a site file, in three dozen requests at most.

This is the door: other packages import these names and no module behind them. discover.py tells the story. probe/
fetches pages and finds the program, links/ and records/ find what repeats on them, html_rules/ and json_rules/ propose
rules from that, and proof/ compares what the rules read with other pages of the forum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from crawl_tasks.discovery.probe.http_probe import PUBLIC_PACE_S, HttpProbe
from crawl_tasks.discovery.probe.site_address import SiteAddress, place_of
from crawl_tasks.discovery.proof.dry_run import DryRun, attempt, missing_in, reread, try_site
from crawl_tasks.discovery.proof.field_coverage import Coverage
from crawl_tasks.discovery.proof.replay import Difference, cases_of, replay, save_case
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.sites.schema import Site

if TYPE_CHECKING:
    from crawl_tasks.discovery.discover import SiteProposal
    from crawl_tasks.discovery.proof.findings import Findings

__all__ = [
    "PUBLIC_PACE_S",
    "Coverage",
    "Difference",
    "DryRun",
    "Findings",
    "HttpProbe",
    "SiteAddress",
    "SiteCheck",
    "SiteProposal",
    "attempt",
    "cases_of",
    "check_feed",
    "check_trials",
    "missing_in",
    "place_of",
    "propose_site_file",
    "replay",
    "reread",
    "save_case",
    "try_site",
]

# The modules behind these three are a hundred. `sites check` and the exporter read pages again without them.


def propose_site_file(
    probe: HttpProbe, place: SiteAddress, name: str, engine: str | None, *, contact: str | None, origin: str
) -> SiteProposal:
    """Find the forum of an address and propose its site file, see discover.py."""
    from crawl_tasks.discovery import discover  # noqa: PLC0415

    return discover.propose_site_file(probe, place, name, engine, contact=contact, origin=origin)


def check_trials(site: Site, trials: Sequence[DryRun]) -> list[SiteCheck]:
    """Return the checks of a site file for which the pages that were tried hold enough, see proof/checks.py."""
    from crawl_tasks.discovery.proof import checks  # noqa: PLC0415

    return checks.check_trials(site, trials)


def check_feed(probe: HttpProbe, site: Site, trials: Sequence[DryRun]) -> SiteCheck | None:
    """Return the check that times agree with those of the forum's feed, None where too few can be compared."""
    from crawl_tasks.discovery import timezone_by_feed  # noqa: PLC0415

    return timezone_by_feed.feed_check(timezone_by_feed.feed_differences(probe, site, trials), site)
