"""Before step 1, survey: rules for a program without preset, from a list and a thread page; for people to check."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.errors import PageError
from crawl_tasks.parse.counts import read_count
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.index import FoundBoard
from crawl_tasks.survey.findings import Findings
from crawl_tasks.survey.links import Link, identity_of, links_of, paged_template, path_of, template_of
from crawl_tasks.survey.pager import GUESS, next_of
from crawl_tasks.survey.records import Rows, are_pages, counts_in, find_rows, moment_rule, selector_in, selector_of
from crawl_tasks.survey.ruletext import CHECK, scalar
from crawl_tasks.survey.thread import author_in
from crawl_tasks.survey.thread_rules import thread_rules
from crawl_tasks.survey.visit import Visitor

_MOST_LISTS = 3
_MOST_BOARDS = 3
_EMPTY = r"(?i)\bno (?:topics|threads|posts|discussions|questions)\b|nothing here|暂无|暫無|还没有|還沒有"
_BOARD_WORDS = re.compile(r"board|forum|list|categor|node|bbs|section|fid=|/c/|/f/", re.IGNORECASE)
_THREAD_WORDS = re.compile(r"thread|topic|post|showthread|/t/|/d/|[?&](?:tid|t)=", re.IGNORECASE)
_REPLIES = re.compile(r"repl|comment|answer|post-?count|posts\b|回", re.IGNORECASE)
_VIEWS = re.compile(r"views?\b|hits?\b|\breads?\b|visits?\b|看", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Listing:
    """A list page that was found. `board` leads to it; None where it is the front page."""

    document: Document
    rows: Rows
    boards: tuple[Link, ...] = ()


def propose(visitor: Visitor, front: Document, found: Findings) -> Findings:
    """Add boards and rules to what is known of a forum; nothing where no list of threads is found."""
    listing = find_list(visitor, front)
    if listing is None:
        return found
    boards = tuple(FoundBoard(link.key, link.text, path_of(link.url)) for link in listing.boards)
    by_address = not boards or listing.boards[0].has_slug
    boards = boards or (FoundBoard("front", None, path_of(front.page.url)),)
    thread, following = _thread(visitor, listing), _next_page(visitor, listing)
    lines = [
        *_list_rules(listing, following),
        *thread_rules(thread, listing.rows.titles[0], following.rule if following else GUESS),
    ]
    remark = "no preset knows this program: the rules below are proposals. Run `crawl-tasks try`, then correct them"
    return replace(
        found, boards=boards, has_board_addresses=by_address, rules="\n".join(lines), remarks=(*found.remarks, remark)
    )


def find_list(visitor: Visitor, front: Document) -> Listing | None:
    """Follow the likeliest kinds of board link, the front page itself last."""
    kinds = _board_kinds(front)
    boards = {links[0].shape for links in kinds if _names_boards(links[0], front)}
    best: Listing | None = None
    for links in kinds[:_MOST_LISTS]:
        if best is not None and _THREAD_WORDS.search(links[0].shape):
            break
        listing = _listing_of(visitor, links, boards)
        if listing is not None and (best is None or listing.rows.score > best.rows.score):
            best = listing
    own = find_rows(front)
    if own is not None and len(own.records) >= 10 and (best is None or own.score > 2 * best.rows.score):
        return Listing(front, own)
    return best


def _listing_of(visitor: Visitor, links: list[Link], boards: set[str]) -> Listing | None:
    """Read a few of what may be boards; the first board of a forum may be empty.

    A category lists boards: it is left out, and so are links that look as the one to it does.
    """
    left = list(links)
    for _ in range(_MOST_BOARDS):
        if not left:
            return None
        link = left.pop(0)
        try:
            document = Document(visitor.page(link.url))
        except PageError:
            continue
        rows = find_rows(document)
        if rows is None:
            left.append(link)
        elif rows.titles[0].shape in boards | {link.shape}:
            left = [one for one in left if one.looks != link.looks]
        else:
            # In the order of the front page, whichever was read.
            return Listing(document, rows, (link, *(one for one in links if one in left)))
    return None


def _board_kinds(front: Document) -> list[list[Link]]:
    kinds = []
    for links in links_of(front).values():
        first = {link.key: link for link in reversed(links)}
        kinds.append([link for key in dict.fromkeys(one.key for one in links) if (link := first[key])])
    return sorted(
        (links for links in kinds if not links[0].is_stranger and not are_pages(links)),
        key=lambda links: (-_names_boards(links[0], front), -len(links)),
    )


def _names_boards(link: Link, front: Document) -> bool:
    """Say whether the address sounds like a board's; the directory that the whole forum lies in does not count."""
    below = link.shape.removeprefix(urlsplit(front.page.url).path.rpartition("/")[0])
    return bool(_BOARD_WORDS.search(below)) and not _THREAD_WORDS.search(below)


@dataclass(frozen=True, slots=True)
class Following:
    """The pager of lists: the rule that finds it, and the address it leads to from a board's first page."""

    rule: str
    url: str
    board: Link | None


def _next_page(visitor: Visitor, listing: Listing) -> Following | None:
    """Find the pager of lists, on other boards where this one has a single page."""
    found = next_of(listing.document)
    if found is not None:
        return Following(*found, listing.boards[0] if listing.boards else None)
    for link in listing.boards[1 : 1 + _MOST_BOARDS]:
        try:
            found = next_of(Document(visitor.page(link.url)))
        except PageError:
            continue
        if found is not None:
            return Following(*found, link)
    return None


def _thread(visitor: Visitor, listing: Listing) -> tuple[Link, Document] | None:
    """Fetch the thread with most replies, as far as the list tells; one that has several pages shows most."""
    busiest = sorted(
        zip(listing.rows.records, listing.rows.titles, strict=True), key=lambda row: _replies(row[0]), reverse=True
    )
    for _, link in busiest[:2]:
        try:
            return link, Document(visitor.page(link.url))
        except PageError:
            continue
    return None


def _replies(record: LexborNode) -> int:
    named = [node for node in counts_in(record) if _REPLIES.search(_words_of(node))]
    return max((read_count(node.text()) or 0 for node in named or counts_in(record)[:1]), default=0)


def _words_of(node: LexborNode) -> str:
    """Return the classes of an element, or of the one around it."""
    above = node.parent
    return node.attributes.get("class") or (above.attributes.get("class") if above is not None else None) or ""


def _list_rules(listing: Listing, following: Following | None) -> list[str]:
    document, rows = listing.document, listing.rows
    title = selector_in(rows.records, [link.node for link in rows.titles]) or "a"
    lines = ["list:"]
    link = listing.boards[0] if listing.boards else None
    if link is None or link.has_slug:
        lines.append(
            f"  identity: {scalar(identity_of(link.shape, 'board', link.place) if link else '^(?P<board>/)$')}{CHECK}"
        )
    else:
        seen = following.board if following else None
        paged = paged_template(seen.url, following.url, seen.key, "board") if following and seen else None
        first = template_of(link.url, link.key, "board")
        lines.append(f"  address: {scalar(paged or first)}{CHECK}")
        if paged and paged.replace("{page}", "1") != first:
            lines.append(f"  first_address: {scalar(first)}")
    record = selector_of(document.root, rows.records) or str(rows.records[0].tag)
    empty = f"{{css: body, regex: {scalar(_EMPTY)}}}"
    if len(document.root.css(record)) > len(rows.records):
        # A heading looks as the rows do: it stands on an empty board too.
        record, empty = f"{record}:has({title})", f"{{first_of: [{empty}, {scalar(record)}]}}"
    lines += [f"  empty: {empty}{CHECK}", f"  record: {scalar(record)}", "  fields:"]
    lines.append(f"    post_id: {{css: {scalar(title)}, attr: href, regex: {scalar(_id_regex(rows.titles[0]))}}}")
    if rows.titles[0].has_slug:
        lines.append(f"    url: {{css: {scalar(title)}, attr: href}}")
    lines.append(f"    title: {scalar(title)}")
    plain = {"author": author_in(rows.records), **_counts(rows.records)}
    fields = {name: scalar(css) for name, css in plain.items() if css}
    moments = {"created_at": moment_rule(rows.records), "last_reply_at": moment_rule(rows.records, place=-1)}
    if moments["created_at"] and not moments["last_reply_at"] and "last" in moments["created_at"]:
        moments = {"last_reply_at": moments["created_at"]}
    fields |= {name: rule for name, rule in moments.items() if rule}
    lines += [f"    {name}: {rule}{CHECK}" for name, rule in fields.items()]
    revision = [name for name in ("reply_count", "last_reply_at") if fields.get(name)][:1]
    if revision:
        lines.append(f"  revision: [{revision[0]}]")
    return lines + (
        [f"  next: {following.rule}"] if following else [f"  next: {GUESS}{CHECK}: no board had a second page"]
    )


def _id_regex(link: Link) -> str:
    return identity_of(link.shape, "id", link.place).strip("^$").replace("(?P<id>", "(")


def _counts(records: list[LexborNode]) -> dict[str, str | None]:
    named = {
        name: selector_in(records, [_named(record, words) for record in records])
        for name, words in (("reply_count", _REPLIES), ("view_count", _VIEWS))
    }
    if not any(named.values()):
        named["reply_count"] = selector_in(records, [next(iter(counts_in(record)), None) for record in records])
    return named


def _named(record: LexborNode, words: re.Pattern[str]) -> LexborNode | None:
    return next((node for node in counts_in(record) if words.search(_words_of(node))), None)
