"""The short form of the soak: six changing forums for twenty seconds, two of which fall ill, and a worker is killed."""

from __future__ import annotations

import pytest

from crawl_tasks.monitor import marks
from tests.isolation import soak
from tests.isolation.soak import REFUSES, WELL, WINDOWS, crawl

pytestmark = pytest.mark.flow
SECONDS = 20
OF_ILL_SITES = {
    "CrawlErrorRatio",
    "CrawlHung",
    "CrawlSiteRefuses",
    "CrawlParserBroken",
    "CrawlDenied",
    "CrawlQuarantined",
}
"""Alerts that no site has while all its pages are well. Those of pace may fire on a machine that is very busy."""


@pytest.mark.long
def test_two_ill_sites_cost_four_well_ones_no_page_and_every_alert_begins_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(marks, "WINDOW_MS", SECONDS * 1000 // WINDOWS)
    # Shorter than the window, or one page that hangs would be no alert.
    monkeypatch.setattr(soak, "HOLD_MS", 1000)

    result = crawl(SECONDS, seed=1, is_ill=True)

    assert {site: found for site, found in result.faults.items() if found} == {}
    ended = {tuple(alert.strip(" `|") for alert in row.split("|")[1:3]) for row in result.alerts}
    assert {("CrawlSiteRefuses", REFUSES), ("CrawlHung", REFUSES)} <= ended
    assert not {(name, site) for name, site in ended if name in OF_ILL_SITES and site in WELL}
