"""The time zone of a forum, by moments that its pages show twice: by its clock, and with a zone.

Examples are `3 hours ago` beside `2024-06-19 22:17`, and a `datetime` attribute with an offset beside the visible text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from zoneinfo import ZoneInfo

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.probe.timezone import (
    Zone,
    is_far,
    place_of_offsets,
    zone_by_times_ahead,
    zone_of_offset,
    zone_said,
)
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.future_checks import times_ahead
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.values.dates import is_stable, read_date
from crawl_tasks.parse.values.page_language import stated_language
from crawl_tasks.sites.site_terms import DateOrder

_LONGEST = 60
_MOST = 200
# A text that both zones read alike needs no zone.
_UTC, _AWAY = ZoneInfo("UTC"), ZoneInfo("Etc/GMT-5")
# Possible error of a relative time: programs cut `3.9 hours` to 3, some round to 4.
_MINUTE = re.compile(r"\d+\s*(?:min|分)")
_HOUR = re.compile(r"\d+\s*(?:hour|hr|小时|小時|時間|时)")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d\d")
# Zones in use differ from UTC by whole quarters of an hour.
_QUARTER = 15


FOOTER = 2000
"""Characters at the end of a page's text where a program names its zone."""


def words_of(document: Document) -> str:
    """Return the text of a page."""
    body = document.root.css_first("body")
    return body.text(separator=" ") if body is not None else ""


def zone_of_pages(documents: Sequence[Document], *, language: str = "") -> Zone | None:
    """Return the zone that most pages name at their end, and no page contradicts. A single page may quote a post."""
    zones = [zone for document in documents if (zone := zone_said(words_of(document)[-FOOTER:], language=language))]
    is_one = len({zone.name for zone in zones}) == 1
    return zones[0] if is_one and len(zones) > 1 and 2 * len(zones) > len(documents) else None


def zone_by_ages(documents: Iterable[Document], *, language: str = "") -> Zone | None:
    """Return the zone in which local and absolute times of the pages agree, None without such times.

    If several offsets fit, or only a zone with summer time, `why` tells the doubt.
    """
    spans = [span for document in documents for span in _told_twice(document)][:_MOST]
    if not spans:
        return None
    low, high = max(least for least, _, _ in spans), min(most for _, most, _ in spans)
    # 840 minutes: UTC+14 is the farthest zone.
    fits = [at for at in range(math.ceil(low / _QUARTER) * _QUARTER, math.floor(high) + 1, _QUARTER) if abs(at) <= 840]
    count = f"{len(spans)} time{'s' * (len(spans) > 1)} told with and without a zone"
    whole = [at for at in fits if at % 60 == 0] or fits
    if not fits:
        place = place_of_offsets(spans)
        return (
            Zone(place, f"{count} fit there in summer and winter; check this: it may be a neighbour") if place else None
        )
    name = zone_of_offset(whole[0], language=language)
    if name is None or len(whole) > 2 or (is_far(whole[0]) and len(spans) == 1):
        return None
    return Zone(name, f"{count} fit no other" if len(fits) == 1 else f"{count} fit best; check this: others fit too")


def _told_twice(document: Document) -> Iterator[tuple[float, float, int]]:
    """Yield the least and the most minutes ahead of UTC that a pair of times allows, and the moment."""
    at_s = document.page.at_s
    for node in find_all(document.root, "[title], [datetime]"):
        texts = [text for text in _texts(node) if 0 < len(text) <= _LONGEST]
        for shown in texts:
            known = next((span for text in texts if text is not shown and (span := _span(text, at_s))), None)
            wall = _on_the_wall(shown, at_s, known[0]) if known is not None else None
            if wall is not None and known is not None:
                first, last = known
                yield (wall - last) / 60 - 1, (wall - first) / 60 + 1, first
                break


def _texts(node: LexborNode) -> list[str]:
    texts = (node.attributes.get("title"), node.attributes.get("datetime"), node.text())
    return [" ".join((text or "").split()) for text in texts]


def _on_the_wall(text: str, at_s: float, known_s: int) -> int | None:
    """Return a time without zone, read as UTC, by the order of day and month that comes nearest to the known moment."""
    if not _TIME_OF_DAY.search(text) or not is_stable(text):
        return None
    walls: list[int] = []
    for order in (None, *DateOrder):
        here, away = read_date(text, at_s, _UTC, order=order), read_date(text, at_s, _AWAY, order=order)
        if here is not None and here != away:
            walls.append(here)
    return min(walls, key=lambda wall: abs(wall - known_s), default=None)


def _span(text: str, at_s: float) -> tuple[int, int] | None:
    """Return the range of moments of a time that is the same in all zones."""
    here, away = read_date(text, at_s, _UTC), read_date(text, at_s, _AWAY)
    if here is None or here != away:
        return None
    if is_stable(text):
        return here, here
    slack = 60 if _MINUTE.search(text) else 3600 if _HOUR.search(text) else None
    return None if slack is None else (here - slack, here + slack // 2)


def zone_by_trials(trials: Sequence[DryRun]) -> Zone | None:
    """Return the zone of a page's language, where times that were read as UTC are ahead as they are there."""
    early_s = max(times_ahead(trials), default=0)
    pages = [trial.page for trial in trials if trial.page is not None] if early_s else []
    zones = (zone_by_times_ahead(early_s, page.at_s, language=stated_language(Document(page).source)) for page in pages)
    return next(filter(None, zones), None)
