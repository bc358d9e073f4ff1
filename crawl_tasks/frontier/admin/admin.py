"""Administration of the ledger: failed requests, board schedules, restoring, auditing."""

from __future__ import annotations

from crawl_tasks.frontier.admin.audit import Audit
from crawl_tasks.frontier.admin.board_schedule import BoardSchedule
from crawl_tasks.frontier.admin.dead_letters import Failed
from crawl_tasks.frontier.admin.decisions import Decisions
from crawl_tasks.frontier.admin.restore import Restore
from crawl_tasks.frontier.frontier import Frontier


class Admin:
    """The administration of one ledger. Thread-safe. Every call may raise RedisUnreachable or BackendError."""

    def __init__(self, frontier: Frontier) -> None:
        client, scripts, keys = frontier.client, frontier.scripts, frontier.keys
        self.failed = Failed(client, scripts, keys)
        self.board_schedule = BoardSchedule(scripts)
        self.decisions = Decisions(client, scripts, keys)
        self.restore = Restore(client, scripts, keys)
        self.audit = Audit(scripts, keys)
