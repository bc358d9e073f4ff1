"""The balance of a site's ledger, as a line and as JSON values."""

from __future__ import annotations

from crawl_tasks.frontier.inspect.request_counts import RequestCounts
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.site_kinds import LEDGER_UNBALANCED
from crawl_tasks.monitor.site_snapshot import by_state


def ledger_line(counts: RequestCounts) -> str:
    """Return the balance of a site as one line."""
    if not counts.is_balanced:
        return LEDGER_UNBALANCED.problem(counts.site, reason=counts.imbalance()).advice(counts.site)
    states = " + ".join(f"{gettext(state)} {count}" for state, count in by_state(counts).items())
    return gettext("{site}: admitted {count} = {states}: balances",
                   site=counts.site, count=counts.admitted, states=states)  # fmt: skip


def ledger_row(counts: RequestCounts) -> dict[str, str | int | bool]:
    """Return the balance of a site as JSON values."""
    return {
        "site": counts.site,
        "admitted": counts.admitted,
        **by_state(counts),
        "balances": counts.is_balanced,
        "imbalance": counts.imbalance(),
    }
