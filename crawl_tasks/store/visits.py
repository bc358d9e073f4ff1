"""Beside the items of a batch: what was done and admitted with them, one row a page, whatever the order of arrival."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import itemgetter
from typing import Final

from crawl_tasks.model import FULL_REACH, Reach, Visit
from crawl_tasks.store.tables import ID_LENGTH, SITE_LENGTH

Page = tuple[str, str, str, int]
RequestRow = tuple[str, str, str, int, str, int, str | None, str | None, int | None, str | None, int | None]

_ADMITTED_FIRST: Final = itemgetter(Visit._fields.index("is_done"), Visit._fields.index("at_ms"))


def request_rows(visits: Sequence[Visit]) -> list[RequestRow]:
    """Make the rows of table `requests`, sorted by key: of each page the newest admission and the newest fetch."""
    known = visits if _fit(visits) else [visit for visit in visits if _fit([visit])]
    rows: dict[Page, RequestRow] = {}
    for visit in sorted(known, key=_ADMITTED_FIRST):
        page = visit[:4]
        if not visit.is_done:
            rows[page] = (*visit[:6], _shown(visit.reach), visit.revision, visit.at_ms, None, None)
        elif page in rows:
            rows[page] = (*rows[page][:9], visit.revision, visit.at_ms)
        else:
            rows[page] = (*visit[:6], _shown(visit.reach), None, None, visit.revision, visit.at_ms)
    return sorted(rows.values())  # no two have the same page, with which a row begins


def _fit(visits: Sequence[Visit]) -> bool:
    """Say whether key columns take them all; what they do not take is, after a loss, found and fetched again."""
    sites, _, keys, _, _, _, _, revisions, _, _ = zip(*visits, strict=True)
    longest_key, longest_site = max(map(len, keys)), max(map(len, sites))
    return longest_key <= ID_LENGTH and longest_site <= SITE_LENGTH and "\0" not in "".join(keys + revisions)


def _shown(reach: Reach) -> str | None:
    return None if reach == FULL_REACH else json.dumps(reach)
