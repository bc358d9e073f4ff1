"""Beside the items of a batch: what was done and admitted with them, one row a page, whatever the order of arrival."""

from __future__ import annotations

import json
from collections.abc import Iterable

from crawl_tasks.model import FULL_REACH, Visit
from crawl_tasks.store.tables import ID_LENGTH, SITE_LENGTH

RequestRow = tuple[str, str, str, int, str, int, str | None, str | None, int | None, str | None, int | None]


def request_rows(visits: Iterable[Visit]) -> list[RequestRow]:
    """Make the rows of table `requests`, sorted by key: of each page the newest admission and the newest fetch."""
    wanted: dict[tuple[str, str, str, int], Visit] = {}
    done: dict[tuple[str, str, str, int], Visit] = {}
    for visit in visits:
        request = visit.request
        # What no key column takes cannot be remembered: after a loss it is found, and fetched, again.
        if (
            len(request.key) > ID_LENGTH
            or len(request.site) > SITE_LENGTH
            or "\0" in f"{request.key}{request.revision}"
        ):
            continue
        key = (request.site, request.stage.value, request.key, request.page)
        newest = done if visit.is_done else wanted
        if key not in newest or newest[key].at_ms <= visit.at_ms:
            newest[key] = visit
    return [_row(key, wanted.get(key), done.get(key)) for key in sorted(wanted.keys() | done.keys())]


def _row(key: tuple[str, str, str, int], wanted: Visit | None, done: Visit | None) -> RequestRow:
    either = wanted or done
    if either is None:
        raise ValueError(f"nobody visited {key}")
    return (
        *key,
        either.request.address,
        either.request.priority,
        None if either.request.reach == FULL_REACH else json.dumps(either.request.reach),
        wanted.request.revision if wanted else None,
        wanted.at_ms if wanted else None,
        done.request.revision if done else None,
        done.at_ms if done else None,
    )
