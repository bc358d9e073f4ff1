"""Conditions of the problems of one site: when a kind holds, with the values of its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from crawl_tasks.errors import LoginRefused
from crawl_tasks.frontier.inspect.request_counts import UnwatchedState
from crawl_tasks.model.own_counters import HIDDEN_OF
from crawl_tasks.monitor.freshness import HIDDEN_SHARE
from crawl_tasks.monitor.humanize import duration
from crawl_tasks.monitor.marks import SiteMarks
from crawl_tasks.monitor.output_language import gettext
from crawl_tasks.monitor.problems.kinds import Condition, Fields
from crawl_tasks.monitor.problems.watch_conditions import fails_all
from crawl_tasks.monitor.problems.window import Window
from crawl_tasks.monitor.site_snapshot import SiteSnapshot

FAILED_SHARE = 0.2
FAILED_OF_LEAST = 20
UNREADABLE_SHARE = 0.1
LATE_SHARE = 0.2
LATE_OF_LEAST = 20
FLAP_SHARE = 0.05
FLAP_LEAST = 50
DENIED_LEAST = 5
GIVEN_UP_SHARE = 0.1
"""The share of a site's pages from which on those that were given up are a warning."""
STALE_S = 1800
MOST_SHORT_NAMED = 3

SHOWN_REST_S = 5.0
"""Cooldown from which on a site is shown as resting, in seconds. Shorter waits are the normal pace."""


def of_site(test: Callable[[SiteSnapshot], Fields | None], *, even_at_rest: bool = True) -> Condition:
    """Return the condition that a test of each active site makes.

    Without `even_at_rest` it ignores sites in quiet hours or with a spent budget, whose alert would last all night.
    """

    def condition(window: Window) -> Iterator[tuple[str, Fields]]:
        for site in window.active:
            if (fields := test(site)) is not None and (even_at_rest or not window.is_resting(site)):
                yield site.name, fields

    return condition


def of_growth(test: Callable[[SiteMarks], Fields | None]) -> Condition:
    """Return the condition that a test of each active site's growth makes. The length of the window is `span`."""

    def condition(window: Window) -> Iterator[tuple[str, Fields]]:
        for site, grown in window.growth:
            if (fields := test(grown)) is not None:
                yield site.name, {**fields, "span": window.span}

    return condition


def unbalanced(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites whose ledger does not balance."""
    for site in window.snapshot.sites:
        if reason := site.counts.imbalance():
            yield site.name, {"reason": reason}


def threads_short(site: SiteSnapshot) -> Fields | None:
    """Return the threads with fewer replies than their lists count: their number, and the worst ones."""
    short = site.short_threads
    worst = (text.split(" ", 2) for text in short[:MOST_SHORT_NAMED])
    named = ", ".join(f"{address} ({listed} listed, {stored} stored)" for listed, stored, address in worst)
    return {"count": len(short), "threads": named} if short else None


def secrets_hidden(site: SiteSnapshot) -> Fields | None:
    """Return the secrets of the session that were replaced in stored texts, and in how many."""
    if "own_names" not in site.counts.fields:  # count_own.lua never counted any
        return None
    hidden = {name.removeprefix(HIDDEN_OF): count for name, count in site.own.items() if name.startswith(HIDDEN_OF)}
    named = ", ".join(f"{name} ({count})" for name, count in sorted(hidden.items(), key=lambda row: -row[1]))
    return {"count": sum(hidden.values()), "names": named} if hidden else None


def no_progress(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites where requests wait and no page was done within the window."""
    for site, grown in window.growth:
        # Delayed requests wait by design, as for a retry.
        waiting = site.counts.open - site.counts.delayed
        if waiting and not grown.done and window.knew(site) and not window.is_resting(site):
            yield site.name, {"count": waiting}


def few_items(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites that gave fewer items a minute than their site file expects."""
    minutes = window.minutes
    for site, grown in window.growth:
        least = float(site.counts.fields.get("min_items", "0"))
        if least and minutes and grown.items / minutes < least and window.knew(site) and not window.is_resting(site):
            yield site.name, {"count": f"{grown.items / minutes:.3g}"}


def failing(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites with a high share of failed attempts, and that share."""
    for site, grown in window.growth:
        # Not of a few attempts: one failure of two is half, and means nothing.
        if grown.attempts >= FAILED_OF_LEAST and grown.failed > FAILED_SHARE * grown.attempts:
            share = min(1.0, grown.failed / grown.attempts)
            yield site.name, {"share": f"{share:.0%}"}


def many_or_all(reason: str, count_many: Callable[[SiteMarks], int]) -> Condition:
    """Return the condition that many pages failed for a reason within the window, or all since the last one that came.

    `count_many` returns how many failed, 0 where they are few.
    """

    def condition(window: Window) -> Iterator[tuple[str, Fields]]:
        grown = dict(zip([site.name for site, _ in window.growth], [marks for _, marks in window.growth], strict=True))
        for site in window.active:
            if site.name in grown and (count := count_many(grown[site.name])):
                yield site.name, {"count": count, "span": window.span}
            elif fails_all(site, reason):
                span = duration(site.no_page_s(window.snapshot.at_ms))
                yield site.name, {"count": site.failed_in_a_row, "span": span}

    return condition


def many_unreadable(grown: SiteMarks) -> int:
    """Return the number of unreadable pages where they are many."""
    return grown.unreadable if grown.unreadable > UNREADABLE_SHARE * grown.attempts else 0


def many_denied(grown: SiteMarks) -> int:
    """Return the number of denied pages where they are several."""
    return grown.denied if grown.denied >= DENIED_LEAST else 0


def mismatching(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites whose pages contradict each other, and how."""
    for site in window.active:
        if text := site.mismatch(window.snapshot.at_ms):
            yield site.name, {"reason": text}


def login_refused(site: SiteSnapshot) -> Fields | None:
    """Return the reason why no login succeeds."""
    # "<since> <reason>" (end_login.lua)
    line = site.counts.fields.get("login")
    return {"reason": line.partition(" ")[2]} if line else None


def any_unarchived(grown: SiteMarks) -> int:
    """Return the number of attempts that found no room in the archive."""
    return grown.unarchived


def hanging(grown: SiteMarks) -> Fields | None:
    """Return the number of pages that hung."""
    return {"count": grown.hung} if grown.hung else None


def unreadable_stages(site: SiteSnapshot) -> Fields | None:
    """Return the stages whose circuit breaker is open because of unreadable pages, with the reasons."""
    breakers = {stage: breaker for stage, breaker in site.open_breakers.items() if not breaker.is_refusal}
    stages = ", ".join(f"{stage.value} ({breaker.reason})" for stage, breaker in breakers.items())
    return {"stage": stages} if stages else None


def refused_stages(site: SiteSnapshot) -> Fields | None:
    """Return the stages that the site refuses for now. `login_refused` tells of those that wait for a login."""
    breakers = site.open_breakers.items()
    stages = ", ".join(
        stage.value for stage, breaker in breakers if breaker.is_refusal and breaker.reason != LoginRefused.reason
    )
    return {"stage": stages} if stages else None


def stale(grown: SiteMarks) -> Fields | None:
    """Return the 95th percentile of the age of stored posts, where the age is high."""
    late_s = grown.freshness.quantile(0.95)
    return {"duration": duration(late_s)} if late_s is not None and late_s > STALE_S else None


def goal_missed(site: SiteSnapshot) -> Fields | None:
    """Return the expectation where the goal is not expected to be met."""
    expected = site.expected
    if expected is None or expected.is_met:
        return None
    return {
        "share": f"{expected.in_time:.0%}",
        "duration": duration(expected.goal_s),
        "count": gettext("about {count}", count=f"{expected.requests_needed_s:.2g}"),
    }


def news_hidden(site: SiteSnapshot) -> Fields | None:
    """Return the share of new items that the page of all news hid, where it is high."""
    expected = site.expected
    if expected is None or expected.hidden_share <= HIDDEN_SHARE:
        return None
    return {"share": f"{expected.hidden_share:.0%}"}


def turns_late(grown: SiteMarks) -> Fields | None:
    """Return the share of late throttle slots where the share is high."""
    is_much = grown.attempts >= LATE_OF_LEAST and grown.late_slots > LATE_SHARE * grown.attempts
    return {"share": f"{grown.late_slots / grown.attempts:.0%}"} if is_much else None


def comments_flap(grown: SiteMarks) -> Fields | None:
    """Return the share of comments that came back after a deletion, where the share is high."""
    # Moderators restore a comment now and then. Dozens at a time are full passes that miss comments.
    is_much = grown.restored > FLAP_LEAST and grown.restored > FLAP_SHARE * grown.comments
    return {"share": f"{grown.restored / max(1, grown.comments):.0%}"} if is_much else None


def parked(site: SiteSnapshot) -> Fields | None:
    """Return how many pages are parked beside those that make a board unwatched, and the most frequent reason."""
    has_more = site.counts.parked and site.counts.parked > len(site.troubles(UnwatchedState.PARKED))
    return _count_and_reason(site, "parked", site.counts.parked) if has_more else None


def given_up(site: SiteSnapshot, *, is_much: bool) -> Fields | None:
    """Return how many pages are dead, and the most frequent reason, where they are much of the site, or where not."""
    dead = site.counts.dead
    if not dead:
        return None
    pages = dead + site.counts.done
    if dead <= len(site.troubles(UnwatchedState.DEAD)) or (dead >= GIVEN_UP_SHARE * pages) != is_much:
        return None
    return _count_and_reason(site, "dead", dead)


def hooks_failing(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites whose own functions failed lately, how often, and which."""
    for site in window.active:
        if failures := site.own_failures(window.snapshot.at_ms):
            count, since_ms, names = failures
            span = duration(max(1, window.snapshot.at_ms - since_ms) / 1000)
            yield site.name, {"count": count, "span": span, "names": names}


def retrying(site: SiteSnapshot) -> Fields | None:
    """Return the number of pages that wait for a retry while none is being fetched."""
    return None if site.counts.leased else _count_and_reason(site, "delayed", site.counts.delayed)


def _count_and_reason(site: SiteSnapshot, fate: str, count: int) -> Fields | None:
    if not count:
        return None
    reasons = [(times, reason) for (other, reason), times in site.fates.items() if other == fate]
    return {"count": count, "reason": max(reasons)[1] if reasons else gettext("reason unknown")}


def slowed_down(site: SiteSnapshot) -> Fields | None:
    """Return the backoff factor of a slowed site."""
    return {"count": site.slowdown} if site.slowdown > 1 else None


def resting(window: Window) -> Iterator[tuple[str, Fields]]:
    """Return the sites in a cooldown, and its duration."""
    for site in window.active:
        if (rests_s := site.rests_s(window.snapshot.at_ms)) >= SHOWN_REST_S:
            yield site.name, {"duration": duration(rests_s)}


def links_capped(site: SiteSnapshot) -> Fields | None:
    """Return the caps that left links out."""
    return {"caps": ", ".join(f"{cap} {count}" for cap, count in site.capped.items())} if site.capped else None
