"""The parts of the alert rules' expressions: series of several exporters as one, and conditions of a site.

All exporters of an installation read one Redis, and their samples differ only by `instance`.
"""

from __future__ import annotations

from typing import Final

SITE: Final = "on (site)"


def latest(series: str) -> str:
    """Return a gauge of sites as one exporter gives it."""
    return f"max without (instance, job) ({series})"


def of_installation(series: str) -> str:
    """Return a gauge of an installation as one exporter gives it. The job tells installations apart."""
    return f"max without (instance) ({series})"


def increase(series: str, span: str) -> str:
    """Return the increase of a counter of each site, over all its labels, with each exporter's sample counted once."""
    return f"sum by (site) (max without (instance, job) (increase({series}[{span}])))"


def share_of_attempts(series: str, share: float, least: int) -> str:
    """Return the condition that a counter grows by a share of the attempts of 15 minutes, which are many enough."""
    attempts = increase("crawl_attempts_total", "15m")
    return f"{increase(series, '15m')} / {attempts} > {share}\nand {SITE} {attempts} >= {least}"


NOT_PAUSED: Final = f"unless {SITE} crawl_site_paused == 1"
NOT_DRAINING: Final = f"unless {SITE} crawl_site_draining == 1"
# Without this, quiet hours would page somebody every night.
NOT_RESTING: Final = f"unless {SITE} crawl_site_rest_seconds > 60 * crawl_site_slowdown"
# Sites whose pages are all denied or unreadable are told as such.
NOT_REFUSED: Final = (
    f"unless {SITE} (crawl_site_refuses == 1 or crawl_breaker_open == 1)\nunless {SITE} crawl_site_fails_all == 1"
)
# The counters of a site that was published a moment ago have not grown either.
IS_OLD: Final = f"and {SITE} crawl_pages_total offset 15m"
NOT_FAILING: Final = f"unless {SITE} crawl_failures_in_a_row >= 3"
TAKES_WRITES: Final = "unless on (job, cell) crawl_redis_refuses_writes == 1"
