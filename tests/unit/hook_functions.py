"""Hooks that note what they are told, and hooks that fail or hang."""

from __future__ import annotations

import threading

from crawl_tasks.api import Comment, DropItem, Post, Request, count

told: list[tuple[str, ...]] = []
goes_on = threading.Event()


def page_failed(site: str, request: Request, reason: str, state: str) -> None:
    told.append(("failed", site, request.address.rpartition("/")[2], reason, state))
    count(site, "Failed pages!")


def item_dropped(item: Post | Comment, reason: str) -> None:
    told.append(("dropped", item.post_id, reason))


def request_filtered(request: Request, parent: Request) -> None:
    told.append(("filtered", request.key, parent.key))


def item_stored(site: str, item: Post | Comment) -> None:
    told.append(("stored", site, item.post_id))


def site_idle(site: str) -> None:
    told.append(("idle", site))


def site_finished(site: str, reason: str) -> None:
    told.append(("ended", site, reason))
    count(site, "ended")


def raises(site: str) -> None:
    raise KeyError(site)


def hangs(site: str) -> None:
    goes_on.wait()


def drop_spam(item: Post) -> Post | DropItem:
    return DropItem("spam") if item.title == "post 11" else item


def newest_first(request: Request) -> int:
    return {"10": 4, "11": 99}.get(request.key, "no number")  # type: ignore[return-value]  # as a careless user may
