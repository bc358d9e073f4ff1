"""What is waited for after a fault, and only that, is shortened here, so that thousands of faults fit into minutes."""

from __future__ import annotations

from functools import partialmethod

from crawl_tasks.frontier import scripts
from crawl_tasks.frontier.outbox import Outbox
from crawl_tasks.worker import store_task

GRACE_MS = 1000  # a message out of its queue and not leased is lost; the crawler's own is 5,000
TAKEOVER_MS = 1500  # the pages of a dead store worker are taken over; 60,000
TROUBLE_WAIT_S = 0.05  # the store tries again; 5
WRITTEN, DRAW = scripts.lua_text, Outbox.draw  # the crawler's own, however often somebody is in haste


def hasten(grace_ms: int = GRACE_MS, takeover_ms: int = TAKEOVER_MS) -> None:
    """Shorten the waits in this process; the last call counts."""

    def hastened(*args: object) -> str:
        text = WRITTEN(*args)
        assert "\nGRACE = 5000" in text
        return text.replace("\nGRACE = 5000", f"\nGRACE = {grace_ms}")

    scripts.lua_text = hastened
    Outbox.draw = partialmethod(DRAW, takeover_ms=takeover_ms)
    store_task.TROUBLE_WAIT_S = TROUBLE_WAIT_S
