"""The balance of a site's ledger, as a line and as JSON values."""

from __future__ import annotations

from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.monitor.problems.site_kinds import LEDGER_UNBALANCED

_NUMBERS = ("admitted", "ready", "released", "leased", "delayed", "parked", "dead", "done")


def ledger_line(counts: RequestCounts) -> str:
    """Return the balance of a site as one line."""
    if not counts.is_balanced:
        return LEDGER_UNBALANCED.problem(counts.site, reason=counts.imbalance()).advice(counts.site)
    return (
        f"{counts.site}: admitted {counts.admitted} = ready {counts.ready} + released {counts.released}"
        f" + leased {counts.leased} + delayed {counts.delayed} + parked {counts.parked} + dead {counts.dead}"
        f" + done {counts.done}: balances"
    )


def ledger_row(counts: RequestCounts) -> dict[str, str | int | bool]:
    """Return the balance of a site as JSON values."""
    numbers = {name: getattr(counts, name) for name in _NUMBERS}
    return {"site": counts.site, **numbers, "balances": counts.is_balanced, "imbalance": counts.imbalance()}
