"""List checks: what the pages of boards say of each other, and of the threads that they list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import combinations, pairwise
from urllib.parse import urlsplit

from crawl_tasks.discovery.probe.json_document import lists as json_lists
from crawl_tasks.discovery.probe.json_document import scalars
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages, ids_of
from crawl_tasks.discovery.proof.site_check import FEW, FUTURE_S, SiteCheck, mostly, names_check
from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Stage
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.stages import Format

_FULL = 10
"""The fewest rows of a page that may be the first of several."""

_EMPTY = "a board without rows is empty"


def boards_differ(pages: ReadPages) -> SiteCheck | None:
    """Return whether neighbouring boards list different threads."""
    if len(pages.full_boards) < 2:
        return None
    alike = _boards_alike(pages)
    evidence = f"boards {' and '.join(alike[0])} do not" if alike else ""
    return SiteCheck("boards list different threads", not alike, evidence)


def _boards_alike(pages: ReadPages) -> list[tuple[str, str]]:
    boards = pages.full_boards
    return [(board, other) for board, other in pairwise(boards) if boards[board] == boards[other]]


def next_lists_differ(pages: ReadPages) -> SiteCheck | None:
    """Return whether the second page of a board lists further threads."""
    second = next((trial for trial in pages.lists if trial.request.page > 1), None)
    if second is None or second.request.key not in pages.full_boards or len(ids_of(second)) < FEW:
        return None
    ids = ids_of(second)
    known = len(ids & pages.full_boards[second.request.key])
    evidence = f"{known} of {len(ids)} threads stand on the page before" if known else ""
    return SiteCheck("the next page lists further threads", 2 * known < len(ids), evidence)


def rows_are_threads(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the lists of which proposed rules leave out rows."""
    if not pages.is_proposed:
        return
    for trial in pages.lists:
        lost = [note for note in trial.parsed.notes if "left out" in note] if trial.parsed is not None else []
        if lost:
            yield SiteCheck("every row is a thread", False, lost[0])


def list_pagers_lead_on(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of a pager that leads elsewhere, on all boards or with proposed rules."""
    notes = [note for trial in pages.first_lists if trial.parsed for note in trial.parsed.notes]
    strays = [note for note in notes if "leads elsewhere" in note]
    # Rules that nobody wrote may fit the boards of one page, and lose the pages of the only one that has more.
    is_everywhere = len(strays) == len(pages.first_lists)
    if strays and (is_everywhere or (pages.is_proposed and not pages.has_further_lists)):
        return SiteCheck("the pager of lists leads on", False, strays[0])
    return None


def boards_end(pages: ReadPages) -> SiteCheck | None:
    """Return a check that boards of one page hold all threads, where several show equally many."""
    if not pages.full_boards or not pages.is_proposed or pages.has_further_lists:
        return None
    size, often = Counter(map(len, pages.full_boards.values())).most_common(1)[0]
    if often < 2 or size < _FULL:
        return None
    evidence = (
        f"{often} of {len(pages.full_boards)} show {size} threads and no next page: these may be the newest alone"
    )
    # Two boards may have as many threads by chance.
    return SiteCheck("boards end where their first pages do", often < FEW, evidence)


def threads_have_one_board(pages: ReadPages) -> SiteCheck | None:
    """Return whether no two boards share several threads."""
    boards = pages.full_boards
    if len(boards) < 2 or not pages.is_proposed or _boards_alike(pages):
        return None
    shared = ((board, other, len(boards[board] & boards[other])) for board, other in combinations(boards, 2))
    evidence = next((f"{count} in {board} and {other}" for board, other, count in shared if count >= FEW), "")
    return SiteCheck("a thread stands in one board", not evidence, evidence)


def rows_lead_to_threads(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation by a row whose address is not read as its thread's, as that of a later page."""
    for row in pages.rows if pages.is_proposed else ():
        if not row.url:
            continue
        try:
            target = pages.addresses.read(row.url)
        except RefusedAddress:
            continue
        if target is None or (target.stage, target.key) != (Stage.POST, row.post_id):
            return SiteCheck("rows lead to their threads", False, f"{row.url} is that of {row.post_id}")
    return None


def json_without_rows_is_empty(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the answers without rows that have records where other answers have those that rows were read from."""
    spec = pages.site.list
    if spec.format is not Format.JSON or spec.embedded is not None:
        return
    answers = [(trial, list(json_lists(Document(trial.page).json))) for trial in pages.lists if trial.page is not None]
    places = {path for trial, lists in answers if trial.rows for path, entries in lists if _has_ids(entries, trial)}
    for trial, lists in answers:
        unread = next((len(entries) for path, entries in lists if path in places and len(entries) >= FEW), 0)
        if unread and not trial.rows:
            yield SiteCheck(_EMPTY, False, f"{unread} records stand on {trial.request.address}")


def _has_ids(entries: Sequence[Json], trial: DryRun) -> bool:
    """Return whether the values of JSON objects hold all ids of a page's rows."""
    values = {value for entry in entries for _, value in scalars(entry)}
    return ids_of(trial) <= values


def html_without_rows_is_empty(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the pages without rows that link threads, besides those that every page links, as the newest ones."""
    spec = pages.site.list
    if spec.format is not Format.HTML or spec.embedded is not None:
        return
    children = [child for trial in pages.lists if trial.parsed for child in trial.parsed.children]
    posts = {child.address for child in children if child.stage is Stage.POST}
    links = [_thread_links(trial, pages.addresses, posts) for trial in pages.lists]
    everywhere = set.intersection(*links) if len(links) > 1 else set()
    for trial, threads in zip(pages.lists, links, strict=True):
        count = len(threads - everywhere)
        if not trial.rows and count >= FEW:
            yield SiteCheck(_EMPTY, False, f"{count} threads are linked on {trial.request.address}")


def _thread_links(trial: DryRun, addresses: Addresses, posts: Set[str]) -> set[str]:
    """Return the threads that links of a page name, or that are linked below the address above all known `posts`."""
    above = {url.rstrip("/").rpartition("/")[0] for url in posts}
    directory = above.pop() + "/" if len(above) == 1 else ""
    is_apart = urlsplit(directory).path.count("/") > 2
    threads: set[str] = set()
    if trial.page is None:
        return threads
    document = Document(trial.page)
    for node in document.root.css("a[href]"):
        try:
            url = document.absolute(node.attributes.get("href") or "")
            target = addresses.read(url) if url is not None and addresses.is_ours(url) else None
        except RefusedAddress:
            continue
        if target is not None and target.stage is Stage.POST:
            threads.add(target.key)
        elif url is not None and target is None and is_apart and url.startswith(directory):
            threads.add(url)
    return threads


def row_titles_differ(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of titles of which too many are one."""
    # An announcement is in every list.
    titles = {row.post_id: row.title for row in pages.rows if row.title}
    title, times = Counter(titles.values()).most_common(1)[0] if titles else ("", 0)
    if times > FEW and (8 if pages.is_proposed else 2) * times > len(titles):
        return SiteCheck("titles of lists differ", False, f"{times} of {len(titles)} are {title[:60]!r}")
    return None


def row_authors_are_names(pages: ReadPages) -> SiteCheck | None:
    """Return whether authors of rows are names."""
    return names_check("authors of lists are names", [(row.author, row.title) for row in pages.rows])


def row_times_are_past(pages: ReadPages) -> SiteCheck | None:
    """Return whether rows were written before their page was fetched."""
    now = max((trial.page.at_s for trial in pages.lists if trial.page is not None), default=0.0)
    times = [row.created_at for row in pages.rows if row.created_at is not None]
    return mostly("times of lists are in the past", [at <= now + FUTURE_S for at in times])


def rows_show_news(pages: ReadPages) -> SiteCheck | None:
    """Return whether a row changes when its thread has a new reply."""
    if pages.rows and pages.site.list.revision:
        return SiteCheck("rows show when a thread has news", any(row.revision for row in pages.rows))
    if pages.rows and pages.is_proposed:
        evidence = "by full passes alone, as no rule reads a row's replies or its last one"
        return SiteCheck("replies to known threads are found", True, evidence)
    return None


def last_replies_follow_posts(pages: ReadPages) -> SiteCheck | None:
    """Return whether the last reply of a row is younger than its post."""
    times = [(row.created_at, row.last_reply_at) for row in pages.rows]
    pairs = [(began, last) for began, last in times if began is not None and last is not None]
    # A day is written without its hour, and then counts from midnight.
    return mostly("no last reply is older than its post", [last >= began - 86_400 for began, last in pairs])
