"""The proposal: rules for a program without preset, from a list and a thread page, for a person to check."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.html_rules.board_scan import NEAR, BoardScan, beside_boards, scan_boards
from crawl_tasks.discovery.html_rules.entry_list import propose_entries
from crawl_tasks.discovery.html_rules.feed_list import feed_list
from crawl_tasks.discovery.html_rules.full_list import full_lists
from crawl_tasks.discovery.html_rules.json_ld_rules import posting_in
from crawl_tasks.discovery.html_rules.list_rules import Following, Listing, list_rules
from crawl_tasks.discovery.html_rules.thread_list import find_list
from crawl_tasks.discovery.html_rules.thread_rules import thread_rules
from crawl_tasks.discovery.links.address_shape import path_of
from crawl_tasks.discovery.links.links import PageLink, links_of, place_in
from crawl_tasks.discovery.links.thread_ids import are_numbered_by_board
from crawl_tasks.discovery.probe.front_page import heading_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.proof.file_score import INVALID, score_of
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.proof.site_check import FEW
from crawl_tasks.discovery.records.next_page import is_further, next_of
from crawl_tasks.discovery.records.repeated_records import Rows, find_rows, parts_of, placed
from crawl_tasks.discovery.records.reply_counts import replies_in
from crawl_tasks.discovery.records.thread_page import FetchedThread, ThreadRecords, comment_hypotheses
from crawl_tasks.discovery.text.yaml_rules import aliased
from crawl_tasks.discovery.timezone_by_ages import zone_by_ages, zone_of_pages
from crawl_tasks.errors import PageError
from crawl_tasks.parse.board_index import FoundBoard
from crawl_tasks.parse.document import Document
from crawl_tasks.sites.board import BoardKind

_WHOLE = (
    "boards' own pages show the newest threads alone, so their whole lists are read; if these are in the order of first"
    " posts, a board of kind news, or full passes, find replies to older threads"
)
_NO_LIST = "no list of threads was found: only threads that the feed or the sitemap names are read"
_MOST_BOARDS = 3
_MOST_SHOWN = 6
_MOST_THREADS = 5


def propose(probe: HttpProbe, front: Document, findings: Findings, language: str = "") -> Findings:
    """Add proposed boards and rules to the findings, nothing without a list of threads.

    Which elements are posts, and whether the first of them is the thread's own, are hypotheses: each makes a file, and
    the file that the pages refute least is taken.
    """
    listing = find_list(probe, front)
    feed = feed_list(probe, front) if listing is None else None
    listing = listing or (feed.listing if feed else None)
    if listing is None:
        return propose_entries(probe, front, findings) or findings
    following, linked = _next_page(probe, listing), listing.boards
    if following is None and (whole := full_lists(probe, listing)) is not None:
        listing, following = whole, _next_page(probe, whole)
    listing = _with_whole_threads(probe, _with_more_rows(probe, listing, following))
    samples = _threads(probe, listing)
    seen = scan_boards(probe, listing.boards, front, listing.titles)
    pages = [listing.document, *(sample.document for sample in samples)]
    remark = "no preset knows this program: the rules below are proposals. Run `crawl-tasks try`, then correct them"
    doubts = [f"links beside boards are boards: {url} is none" for url in beside_boards(front, linked)[:1]]
    doubts += _doubts(probe, listing, following, is_from_feed=feed is not None)
    findings = replace(
        findings,
        zone=findings.zone or zone_of_pages(pages, language=language) or zone_by_ages(pages, language=language),
        boards=feed.boards if feed else seen.boards or (FoundBoard("front", None, path_of(front.page.url)),),
        left_out=seen.left_out,
        has_board_addresses=not listing.boards or listing.boards[0].has_slug,
        remarks=(*findings.remarks, remark, *[_NO_LIST] * (feed is not None), *[_WHOLE] * (linked != listing.boards)),
        doubts=tuple(doubts),
    )
    best = _best_of(probe, listing, following, samples, findings, seen)
    if best[0][0] < 0 and samples:
        tried = _tried_threads(probe, listing, samples)
        again = _best_of(probe, listing, following, [*samples, *tried], findings, seen)
        best = max(again, best, key=itemgetter(0))
    return best[1]


def _doubts(probe: HttpProbe, listing: Listing, following: Following | None, *, is_from_feed: bool) -> list[str]:
    """Return what pages say against the list: threads that it lacks, and threads that cannot be read."""
    doubts = []
    if not is_from_feed and len(unlisted := _unlisted(probe, listing, following)) >= FEW:
        doubts.append(
            f"the front page lists every thread: {len(unlisted)} that other pages link are not on it, as {unlisted[0]}"
        )
    asked = {link.url for link in listing.titles}.intersection(probe.asked)
    unread = sorted(url for url in asked if not probe.has(url))
    if len(unread) >= FEW and 2 * len(unread) > len(asked):
        doubts.append(f"threads can be read: {len(unread)} of {len(asked)} cannot, as {unread[0]}")
    return doubts


def _tried_threads(probe: HttpProbe, listing: Listing, samples: Sequence[FetchedThread]) -> list[FetchedThread]:
    """Return the threads by which rules were tried. Those that refute them show what the samples did not."""
    known = {sample.link.url for sample in samples}
    rows = {link.url: (link, at) for at, link in enumerate(listing.titles) if link.url not in known}
    return [FetchedThread(link, at, Document(probe.page(url))) for url, (link, at) in rows.items() if probe.has(url)]


def _best_of(
    probe: HttpProbe, listing: Listing, following: Following | None, samples: Sequence[FetchedThread],
    findings: Findings, scan: BoardScan,
) -> tuple[tuple[int, ...], Findings]:  # fmt: skip
    """Return the hypothesis that the pages refute least, with its score."""
    hypotheses = _hypotheses(samples)
    headings = {sample.row: heading_of(sample.document) for sample in samples}
    step = following.step if following else None
    made: list[tuple[tuple[int, ...], Findings]] = []
    for records, is_inside, is_repeated in hypotheses:
        example = listing.rows.titles[0]
        threads = thread_rules(
            samples, records, example, step, is_titled=listing.is_titled, is_post_inside=is_inside,
            is_post_repeated=is_repeated, board=listing.boards[0] if listing.boards else None,
        )  # fmt: skip
        has_lists = any(board.kind is BoardKind.LIST for board in findings.boards)
        lines = list_rules(listing, following, scan, threads.first, headings) if has_lists else []
        candidate = replace(findings, rules="\n".join(aliased([*lines, *threads.lines])))
        *most, held = score_of(probe, site_file(candidate), {sample.document.page.url for sample in samples})
        # Ids tell a post that later pages repeat from its comments, and so does a post that is apart.
        score = (*most, int(bool(records and records.key)), int(not threads.is_post_above), held)
        # Later pages may begin with the post again.
        is_best = all(score > other for other, _ in made)
        hypotheses += [(records, True, True)] if is_best and score[0] < 0 and is_inside and not is_repeated else []
        made.append((score, candidate))
        # Records without an id, an author and a text are no comments.
        if records is not None and len(made) == len(hypotheses) and all(score[0] == INVALID for score, _ in made):
            hypotheses.append((None, False, False))
    return max(made, key=itemgetter(0))


_Hypothesis = tuple[ThreadRecords | None, bool, bool]
"""The records, whether the first of them is the post, and whether later pages repeat the post."""


def _hypotheses(samples: Sequence[FetchedThread]) -> list[_Hypothesis]:
    hypotheses: list[_Hypothesis] = []
    documents = [sample.document for sample in samples]
    for candidate in comment_hypotheses(samples):
        if not candidate.is_behind_post(documents):
            hypotheses.append((candidate, True, False))
        hypotheses.append((candidate, False, False))
    if not hypotheses or any(map(posting_in, documents)):
        hypotheses.append((None, False, False))
    return hypotheses


def _unlisted(probe: HttpProbe, listing: Listing, following: Following | None) -> list[str]:
    """Return the threads that pages link, but not the front page, where it is the only list and has one page."""
    if listing.boards or following is not None:
        return []
    shape, known = listing.titles[0].shape, {link.key for link in listing.titles}
    pages = [Document(probe.page(url)) for url in probe.asked if probe.has(url)]
    links = [link for page in pages for link in links_of(page, shape).get(shape, [])]
    return list({link.key: link.url for link in links if link.key not in known}.values())


def _next_page(probe: HttpProbe, listing: Listing) -> Following | None:
    """Return the pager of lists, from another board if this one has a single page."""
    inside = parts_of(listing.rows)
    own = listing.boards[0] if listing.boards else None
    step = next_of(listing.document, own.key if own else "", inside)
    if step is not None:
        return Following(step, own)
    for link in listing.boards[1 : 1 + _MOST_BOARDS]:
        try:
            document = Document(probe.page(link.url))
        except PageError:
            continue
        rows = find_rows(document, listing.rows.titles[0].shape)
        step = next_of(document, link.key, parts_of(rows) if rows else frozenset())
        if step is not None:
            return Following(step, link)
    return None


def _with_more_rows(probe: HttpProbe, listing: Listing, following: Following | None) -> Listing:
    """Return the listing with the rows of further pages: page 2, and the first pages of other boards."""
    urls = [(following.step.url, following.board)] if following else []
    # The board scan asks for these pages too.
    urls += [(link.url, link) for link in listing.boards[1:_MOST_SHOWN]]
    further: list[Rows] = []
    places = {place_in(title.node)[:NEAR] for title in listing.rows.titles}
    shape = listing.rows.titles[0].shape
    # The newest threads in a sidebar are the same on all pages.
    own = {placed(link) for link in listing.rows.titles}
    chrome = {title for link in links_of(listing.document, shape)[shape] if (title := placed(link)) not in own}
    for url, board in urls:
        with suppress(PageError):
            rows = find_rows(Document(probe.page(url)), shape, ignoring=chrome)
            if rows is None or rows.siblings != listing.rows.siblings:
                continue
            if {place_in(title.node)[:NEAR] for title in rows.titles} <= places:
                further.append(_listed_by(board, rows))
    first = _listed_by(listing.boards[0] if listing.boards else None, listing.rows)
    listing = replace(listing, rows=first, further=tuple(further))
    others = {title.keys[: title.place] + title.keys[title.place + 1 :] for title in listing.titles}
    # `topic.asp?id=12&forum=3`
    is_mixed = len(others) > 1
    has_board = not listing.is_titled or (is_mixed and are_numbered_by_board(probe, listing.titles))
    return listing.mapped(lambda link: replace(link, is_mixed=is_mixed, has_board=has_board))


def _with_whole_threads(probe: HttpProbe, listing: Listing) -> Listing:
    """Return the listing with addresses of whole threads, where its links lead to the last replies: `/12/l50`."""
    link = listing.titles[0]
    whole = f"{link.url.rpartition('/')[0]}/"
    if not link.shape.endswith("#/~"):
        return listing
    with suppress(PageError):
        page = Document(probe.page(link.url))
        if whole in _urls_in(page, page.root) and probe.page(whole).url == whole:
            return listing.mapped(
                lambda row: replace(row, url=f"{row.url.rpartition('/')[0]}/", shape=row.shape.removesuffix("~"))
            )
    return listing


def _listed_by(board: PageLink | None, rows: Rows) -> Rows:
    """Return rows whose links know their board."""
    return replace(rows, titles=[replace(link, board=board.key if board else "") for link in rows.titles])


def _threads(probe: HttpProbe, listing: Listing) -> list[FetchedThread]:
    """Fetch a few threads: two with most replies, one with fewest, and some between."""
    counts = replies_in(listing.records)
    if not any(counts):
        # Links to later pages of a thread are beside its title.
        counts = []
        for record, link in zip(listing.records, listing.titles, strict=True):
            counts.append(sum(is_further(link.url, url) for url in _urls_in(listing.document, record)))
    # A thread that two list pages show is tried once: said twice, its texts look like parts of the page.
    rows = {link.url: at for at, link in reversed([*enumerate(listing.titles)])}
    order = sorted(rows.values(), key=lambda at: (-counts[at], at))
    places = dict.fromkeys(
        order[at] for at in (0, 1, len(order) // 3, len(order) // 2, -1) if -len(order) <= at < len(order)
    )
    threads = []
    for at in list(places)[:_MOST_THREADS]:
        link = listing.titles[at]
        with suppress(PageError):
            threads.append(FetchedThread(link, at, Document(probe.page(link.url))))
    return threads


def _urls_in(document: Document, record: LexborNode) -> set[str]:
    urls = (document.absolute(node.attributes.get("href") or "") for node in record.css("a[href]"))
    return {url.partition("#")[0] for url in urls if url is not None}
