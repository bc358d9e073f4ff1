"""Event hooks of a site file: functions that are told of failed pages, items, requests, and the end of a crawl."""

from __future__ import annotations

from typing import Final

from crawl_tasks.sites.field_rules import Part, optional
from crawl_tasks.sites.stages import FunctionName


class Hooks(Part):
    """The hooks of a site, each `package.module:function`. A worker calls them beside its pages, never within one."""

    page_failed: FunctionName | None = optional(
        "A page failed: `request`, `reason`, `details`, `state` (delayed, parked or dead)."
    )
    item_dropped: FunctionName | None = optional("A step dropped an item: `request`, `item`, `reason`.")
    request_filtered: FunctionName | None = optional(
        "The duplicate guard knew a request: `request`, and `parent` that led to it."
    )

    item_stored: FunctionName | None = optional("The store has an item of a page that was fetched: `item`.")
    site_idle: FunctionName | None = optional(
        "The last open request of the site has ended. A watched forum is idle between scans."
    )
    site_finished: FunctionName | None = optional("The crawl has ended, and everything is stored: `reason`.")


OFFERED: Final = {
    "page_failed": ("site", "request", "reason", "details", "state"),
    "item_dropped": ("site", "request", "item", "reason"),
    "request_filtered": ("site", "request", "parent"),
    "item_stored": ("site", "item"),
    "site_idle": ("site",),
    "site_finished": ("site", "reason"),
}
"""The parameters that a function may take, by event."""
