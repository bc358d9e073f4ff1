"""Checks of a site file by the forum's own pages: what lists say of threads, and threads of themselves.

Rules that fit one page may be wrong: a row's last author for its author, the page's own address for the next page, an
`empty` rule that fits a page with rows. Each check compares two statements of the forum that right rules read alike. A
check without enough to compare says nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import combinations, pairwise
from urllib.parse import urlsplit

from crawl_tasks.discovery.probe.json_document import lists as json_lists
from crawl_tasks.discovery.probe.json_document import more_told, scalars
from crawl_tasks.discovery.probe.page_state import state_of
from crawl_tasks.discovery.proof.date_samples import date_checks
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.field_checks import field_checks
from crawl_tasks.discovery.proof.note_checks import note_checks
from crawl_tasks.discovery.proof.record_coverage import coverage_checks, gaps_in
from crawl_tasks.discovery.proof.site_check import FEW, FUTURE_S, SiteCheck, mostly, names_check
from crawl_tasks.discovery.proof.thread_checks import ReadThread, comment_checks, record_checks, thread_checks
from crawl_tasks.discovery.records.next_page import skipped
from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import UNREADABLE, Post, Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.pagination_links import unread_page
from crawl_tasks.parse.values.future_dates import ahead_s, zone_hint
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.board import LISTS
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import Format

_FULL = 10
"""The fewest rows of a page that may be the first of several."""


def check_trials(site: Site, trials: Sequence[DryRun]) -> list[SiteCheck]:
    """Return the checks for which the pages that were tried hold enough."""
    # A front page has boards in the place of threads.
    others = {board.id for board in site.own_boards if board.kind not in LISTS}
    seen = [one for one in trials if one.parsed is not None]
    lists = [one for one in seen if one.request.stage is Stage.LIST and one.request.key not in others]
    # Feeds and hubs name threads too; what lists say of them counts.
    named = [one for one in seen if one.request.stage is Stage.LIST and one.request.key in others]
    rows = {row.post_id: row for one in (*named, *lists) for row in one.rows if isinstance(row, Post)}
    paged = [one for one in seen if one.request.stage is Stage.COMMENT]
    # A thread's first comments may stand on a page of their own.
    apart = {one.request.key: one for one in paged if one.request.page == 1}
    threads = [
        ReadThread(rows[one.request.key], read, post, read.parsed.items.comments, gaps_in(site, read))
        for one in trials
        for read in (apart.get(one.request.key, one),)
        if read.parsed is not None
        if one.request.stage is Stage.POST and one.parsed is not None and one.request.key in rows
        for post in one.parsed.items.posts[:1]
        if post.state not in UNREADABLE
    ]
    checks = [
        *note_checks(seen),
        *field_checks(site, seen),
        *_of_lists(site, lists),
        *_of_rows(site, lists),
        _of_zone(times_ahead(seen)),
        *date_checks(seen),
        *thread_checks(site, threads),
        *comment_checks(site, threads, [one for one in paged if one.request.page > 1]),
    ]
    if site.engine is None:
        entries = [row for one in lists for row in one.rows if isinstance(row, Post) and row.url is None]
        if "body" in site.list.fields:
            checks += record_checks("entries", [(one.author, one.created_at, one.body) for one in entries])
        checks += [*_of_ends(site, [one.trial for one in threads]), *coverage_checks(site, trials)]
    return [one for one in checks if one is not None]


def _of_lists(site: Site, lists: Sequence[DryRun]) -> Iterator[SiteCheck | None]:
    first = {one.request.key: _ids(one) for one in lists if one.request.page == 1 and len(_ids(one)) >= FEW}
    same = [(one, other) for one, other in pairwise(first) if first[one] == first[other]]
    if len(first) > 1:
        yield SiteCheck(
            "boards list different threads", not same, f"boards {' and '.join(same[0])} do not" if same else ""
        )
    second = next((one for one in lists if one.request.page > 1), None)
    if second is not None and second.request.key in first and len(_ids(second)) >= FEW:
        known = len(_ids(second) & first[second.request.key])
        text = f"{known} of {len(_ids(second))} threads stand on the page before"
        yield SiteCheck("the next page lists further threads", 2 * known < len(_ids(second)), text if known else "")
    for one in lists:
        lost = [note for note in one.parsed.notes if "left out" in note] if one.parsed is not None else []
        if lost and site.engine is None:
            yield SiteCheck("every row is a thread", False, lost[0])
    begun = [one for one in lists if one.rows and one.request.page == 1]
    strays = [note for one in begun if one.parsed for note in one.parsed.notes if "leads elsewhere" in note]
    # Rules that nobody wrote may fit the boards of one page, and lose the pages of the only one that has more.
    leads = [one for one in begun if one.parsed and any(child.page > 1 for child in one.parsed.children)]
    if strays and (len(strays) == len(begun) or (site.engine is None and not leads)):
        yield SiteCheck("the pager of lists leads on", False, strays[0])
    size, often = Counter(len(found) for found in first.values()).most_common(1)[0] if first else (0, 0)
    if site.engine is None and not leads and often > 1 and size >= _FULL:
        text = f"{often} of {len(first)} show {size} threads and no next page: these may be the newest alone"
        # Two boards may have as many threads by chance.
        yield SiteCheck("boards end where their first pages do", often < FEW, text)
    met = [(one, other, len(first[one] & first[other])) for one, other in combinations(first, 2)]
    many = next((f"{n} in {one} and {other}" for one, other, n in met if n >= FEW), "")
    if met and not same and site.engine is None:
        yield SiteCheck("a thread stands in one board", not many, many)
    if site.engine is None:
        yield from _of_ends(site, lists)
    addresses = Addresses(site)
    if site.engine is None and (astray := _astray(lists, addresses)):
        yield SiteCheck("rows lead to their threads", False, astray)
    posts = {child.address for one in lists if one.parsed for child in one.parsed.children if child.stage is Stage.POST}
    has_links = site.list.format is Format.HTML and site.list.embedded is None
    if site.list.format is Format.JSON and site.list.embedded is None:
        yield from _of_json_lists(lists)
    linked = [_thread_links(one, addresses, posts) for one in lists] if has_links else []
    # The newest threads, which every page shows, are no rows.
    everywhere = set.intersection(*linked) if len(linked) > 1 else set()
    for one, found in zip(lists, linked, strict=bool(linked)):
        if not one.rows and len(found - everywhere) >= FEW:
            links = len(found - everywhere)
            yield SiteCheck(
                "a board without rows is empty", False, f"{links} threads are linked on {one.request.address}"
            )


def _astray(lists: Sequence[DryRun], addresses: Addresses) -> str:
    """Return the address of a row that the rules for threads do not read as its thread's, as that of a later page."""
    for row in (row for one in lists for row in one.rows if isinstance(row, Post) and row.url):
        try:
            target = addresses.read(row.url or "")
        except RefusedAddress:
            continue
        if target is None or (target.stage, target.key) != (Stage.POST, row.post_id):
            return f"{row.url} is that of {row.post_id}"
    return ""


def _of_json_lists(pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield what refutes an answer without rows: records where other answers have those that rows were read from."""
    told = [(one, list(json_lists(Document(one.page).json))) for one in pages if one.page is not None]
    places: set[str] = set()
    for one, found in told:
        for path, entries in found:
            values = {value for entry in entries for _, value in scalars(entry)}
            places |= {path} if one.rows and _ids(one) <= values else set()
    for one, found in told:
        unread = next((len(entries) for path, entries in found if path in places and len(entries) >= FEW), 0)
        if unread and not one.rows:
            yield SiteCheck("a board without rows is empty", False, f"{unread} records stand on {one.request.address}")


def _of_ends(site: Site, pages: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield what refutes a pager that found no further page."""
    for one in pages:
        if one.parsed is None or one.page is None:
            continue
        following = next((child.address for child in one.parsed.children if child.page > 1), None)
        if following is None and one.rows and one.request.page == 1 and (more := _more_in_json(site, one)):
            yield SiteCheck("pages without a next one end there", False, f"{more} on {one.page.url}")
            return
        if following is not None:
            between = skipped(Document(one.page), following) if one.request.page == 1 else None
            if between is not None:
                yield SiteCheck("no page is skipped", False, f"{between} stands before {following}")
                return
            continue
        unread = unread_page(site, one.request, Document(one.page)) if one.rows and one.request.page == 1 else None
        if unread is not None:
            yield SiteCheck("pages without a next one end there", False, f"{unread} is linked on {one.page.url}")
            return


def _more_in_json(site: Site, trial: DryRun) -> str:
    """Return the value by which an answer of an API says that there is more, empty without one."""
    spec = site.stages.get(trial.request.stage)
    if trial.page is None or trial.parsed is None or spec is None or spec.format is not Format.JSON:
        return ""
    document = Document(trial.page)
    state = state_of(document) if spec.embedded else None
    if spec.embedded and state is None:
        return ""
    comments = trial.parsed.items.comments
    rows = len(trial.rows) + (len(comments) if trial.request.stage is Stage.POST else 0)
    return more_told(state.value if state else document.json, rows)


def _thread_links(trial: DryRun, addresses: Addresses, posts: Set[str]) -> set[str]:
    """Return the threads that links of a page name, or that are linked below the address above all known `posts`."""
    above = {url.rstrip("/").rpartition("/")[0] for url in posts}
    directory = above.pop() + "/" if len(above) == 1 else ""
    is_apart = urlsplit(directory).path.count("/") > 2
    found: set[str] = set()
    if trial.page is None:
        return found
    document = Document(trial.page)
    for node in document.root.css("a[href]"):
        try:
            url = document.absolute(node.attributes.get("href") or "")
            target = addresses.read(url) if url is not None and addresses.is_ours(url) else None
        except RefusedAddress:
            continue
        if target is not None and target.stage is Stage.POST:
            found.add(target.key)
        elif url is not None and target is None and is_apart and url.startswith(directory):
            found.add(url)
    return found


def times_ahead(pages: Sequence[DryRun]) -> list[float]:
    """Return by how many seconds each page with a time of the last hour has one that is ahead, 0 for none."""
    found = []
    for one in pages:
        items = one.parsed.items if one.parsed is not None else None
        if items is not None and one.page is not None:
            times = [at for post in items.posts for at in (post.created_at, post.last_reply_at)]
            found.append(ahead_s([*times, *(comment.created_at for comment in items.comments)], one.page.at_s))
    return [seconds for seconds in found if seconds is not None]


def _of_zone(early: Sequence[float]) -> SiteCheck | None:
    most = max(early, default=0)
    text = f", by {most / 60:.0f} min: {zone_hint(most)}"
    return mostly("no time is ahead of its page", [not seconds for seconds in early], text)


def _of_rows(site: Site, lists: Sequence[DryRun]) -> Iterator[SiteCheck | None]:
    rows = [row for one in lists for row in one.rows if isinstance(row, Post)]
    # An announcement stands in every list.
    titles = {row.post_id: row.title for row in rows if row.title}
    title, times = Counter(titles.values()).most_common(1)[0] if titles else ("", 0)
    if times > FEW and (2 if site.engine else 8) * times > len(titles):
        yield SiteCheck("titles of lists differ", False, f"{times} of {len(titles)} are {title[:60]!r}")
    yield names_check("authors of lists are names", [(row.author, row.title) for row in rows])
    now = max((one.page.at_s for one in lists if one.page is not None), default=0.0)
    yield mostly(
        "times of lists are in the past",
        [row.created_at <= now + FUTURE_S for row in rows if row.created_at is not None],
    )
    if rows and site.list.revision:
        yield SiteCheck("rows show when a thread has news", any(row.revision for row in rows))
    elif rows and site.engine is None:
        text = "by full passes alone, as no rule reads a row's replies or its last one"
        yield SiteCheck("replies to known threads are found", True, text)
    both = [row for row in rows if row.created_at is not None and row.last_reply_at is not None]
    # A day is written without its hour, and then counts from midnight.
    yield mostly(
        "no last reply is older than its post",
        [(row.last_reply_at or 0) >= (row.created_at or 0) - 86_400 for row in both],
    )


def _ids(trial: DryRun) -> set[str]:
    return {row.post_id for row in trial.rows if isinstance(row, Post)}
