"""List rules: proposed rules for the list pages of an unknown program, by what threads say of their own rows."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.html_rules.board_scan import BoardScan
from crawl_tasks.discovery.html_rules.thread_rules import FirstPost
from crawl_tasks.discovery.links.address_shape import identity_of
from crawl_tasks.discovery.links.address_template import paged_template, template_of
from crawl_tasks.discovery.links.links import PageLink
from crawl_tasks.discovery.records.link_text import link_text_of, title_of
from crawl_tasks.discovery.records.next_page import GUESS, Step
from crawl_tasks.discovery.records.record_fields import author_text, moment_text
from crawl_tasks.discovery.records.record_queries import selector_in, selector_of
from crawl_tasks.discovery.records.repeated_records import Rows, upwards
from crawl_tasks.discovery.records.reply_counts import count_rules, words_of
from crawl_tasks.discovery.records.slots import MomentSlot, Slots
from crawl_tasks.discovery.text.vocabulary import LATEST
from crawl_tasks.discovery.text.yaml_rules import CHECK, fields_text, literal, scalar
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.dates import is_stable
from crawl_tasks.parse.values.text import lines as lines_of
from crawl_tasks.sites.rule_presets import EMPTY

_DAY_S = 86_400
_PART_OF_AGE = 0.1
_ENOUGH = 4


@dataclass(frozen=True, slots=True)
class Listing:
    """A list page, and the boards of the same kind, its own first. No boards for a front page.

    `further` are the rows of other list pages, on which rules are tried too.
    """

    document: Document
    rows: Rows
    boards: tuple[PageLink, ...] = ()
    further: tuple[Rows, ...] = ()

    @property
    def records(self) -> list[LexborNode]:
        """The rows of all pages."""
        return [record for rows in (self.rows, *self.further) for record in rows.records]

    @property
    def titles(self) -> list[PageLink]:
        """The titles of all rows."""
        return [link for rows in (self.rows, *self.further) for link in rows.titles]

    @property
    def is_titled(self) -> bool:
        """Whether links to threads differ in their texts: where they do not, `Reply` or `Read more` leads to each."""
        return len({link.text for link in self.titles}) > 1 or len(self.titles) < _ENOUGH

    def mapped(self, change: Callable[[PageLink], PageLink]) -> Listing:
        """Return the listing with other links to threads."""
        rows, *further = (replace(row, titles=[*map(change, row.titles)]) for row in (self.rows, *self.further))
        return replace(self, rows=rows, further=tuple(further))


@dataclass(frozen=True, slots=True)
class Following:
    """The pager of lists, and the board whose first page shows the pager."""

    step: Step
    board: PageLink | None


def list_rules(
    listing: Listing, following: Following | None, scan: BoardScan, first: Mapping[int, FirstPost],
    headings: Mapping[int, str],
) -> list[str]:  # fmt: skip
    """Propose `list`.

    Args:
        listing: the rows.
        following: the pager.
        scan: the board scan, with the page of a board without threads and the place of boards' titles.
        first: the first posts of some threads, by the number of the row.
        headings: the titles of these threads on their own pages.
    """
    records, links = listing.records, listing.titles
    link = _link_selector(records, links)
    title = title_of(records, links, headings) or link or "a"
    addresses, has_template = _addresses(listing, following)
    lines = [
        "list:",
        *addresses,
        *_records(listing, link or title, scan.empty),
        *([f"  title: {scalar(scan.title)}"] if scan.title else []),
        *(["  siblings: true"] if listing.rows.siblings else []),
    ]
    start = f"css: {scalar(link)}, " if link else ""
    fields = {"post_id": f"{{{start}attr: href, regex: {scalar(links[0].id_regex())}}}"}
    if links[0].has_slug:
        fields["url"] = f"{{{start}attr: href, regex: {scalar(_address_regex(links[0].shape))}, as: url}}"
    slots = Slots(records)
    author = _author(slots, [row_link.node for row_link in links], first)
    link_text = link_text_of(links, headings)
    fields |= {"title": link_text.rule(title) if link_text else scalar(title)} if listing.is_titled else {}
    fields |= {"author": author} if author else {}
    replies = {row: item.replies for row, item in first.items() if item.replies is not None}
    fields |= count_rules(records, replies) or (link_text.count_rule(title, links, replies) if link_text else {})
    moments, is_stable_last = _moments(slots, first)
    fields |= moments
    lines += fields_text(fields, 2)
    lines += _revision(fields, is_stable_last=is_stable_last)
    more = (
        following.step.line(has_template=has_template) if following else f"{GUESS}{CHECK}: no board had a second page"
    )
    return [*lines, f"  {more}"]


def _link_selector(records: Sequence[LexborNode], links: Sequence[PageLink]) -> str | None:
    """Return the selector of the links within rows, None where the rows are the links."""
    within: list[LexborNode | None] = []
    for link, record in zip(links, records, strict=True):
        within.append(link.node if link.node.mem_id != record.mem_id else None)
    return selector_in(records, within)


def _revision(fields: Mapping[str, str], *, is_stable_last: bool) -> list[str]:
    """Return the line of the revision. A count alone misses a thread that lost one reply and got another."""
    signs = [name for name in ("reply_count", "last_reply_at") if name in fields and (name[0] == "r" or is_stable_last)]
    return [f"  revision: [{', '.join(signs)}]"] if signs else []


def _address_regex(shape: str) -> str:
    """Return a regex for a thread's address: without #reply, and without the list's page, or more, behind its key."""
    name, _, mark = re.split("[?&]", shape)[-1].partition("=")
    if "?" not in shape:
        return "^[^#?]*/" if shape.endswith("/") else "^[^#?]+"
    if mark not in ("#", "*"):
        return "^[^#]+"
    return f"^[^#]*[?&]{re.escape(name)}=" + (r"\d+" if mark == "#" else "[^&#]+")


def _author(slots: Slots, titles: Sequence[LexborNode], first: Mapping[int, FirstPost]) -> str | None:
    """Return the rule of the authors, none if the threads' own pages name other people."""
    count = len(slots.records)
    linked = {node.mem_id for node in titles}
    known = {row: item.author for row, item in first.items() if item.author}
    scored = []
    for place, slot in enumerate(slots.names()):
        texts = slot.texts()
        if any(node.mem_id in linked for node in slot.nodes.values()):
            continue
        pairs = [(texts[row], author) for row, author in known.items() if row in texts]
        equal = sum(text == author for text, author in pairs)
        ends = [text.removesuffix(author).strip() for text, author in pairs if text.endswith(author)]
        scored.append((max(equal, len(ends) - 0.5), -place, slot, ends[0] if not equal and ends else ""))
    best = max(scored, key=lambda pair: pair[:2], default=None)
    if best is None or (known and best[0] * 5 < 4 * len(known)):
        return None
    css = selector_in(slots.records, best[2].targets(count))
    if css is None:
        return None
    return author_text(css, rf"^\s*{literal(best[3])}\s*(.+)$" if best[3] else "")


def _moments(slots: Slots, first: Mapping[int, FirstPost]) -> tuple[dict[str, str], bool]:
    """Return the rules of the moments of rows, and whether the last reply's is the same text tomorrow."""
    candidates = slots.moments(0.6)
    # Both moments are mostly of one day.
    began = _nearest(
        [candidate for candidate in candidates if not _is_last(candidate, first)],
        {row: item.at for row, item in first.items()},
    )
    rest = [candidate for candidate in candidates if candidate is not began]
    lasts = {row: item.last for row, item in first.items()}
    last = _nearest(rest, lasts) if any(lasts.values()) else None
    start = began.at if began is not None else {}
    younger = [
        candidate for candidate in rest if all(at >= start.get(row, 0) - _DAY_S for row, at in candidate.at.items())
    ]
    last = last or next(iter(younger), None)
    if began is None and last is None and candidates:
        is_latest = any(LATEST.search(words_of(node)) for node in candidates[0].slot.nodes.values())
        began, last = (None, candidates[0]) if is_latest or any(first.values()) else (candidates[0], None)
    rules: dict[str, str] = {}
    for name, candidate in (("created_at", began), ("last_reply_at", last)):
        if candidate is not None:
            rules |= moment_text(
                candidate, selector_in(slots.records, candidate.slot.targets(len(slots.records))), name
            )
    # Only the newest are told by `3 hours ago`.
    texts = last.texts() if last is not None else []
    return rules, sum(map(is_stable, texts)) * 2 > len(texts)


def _is_last(moments: MomentSlot, first: Mapping[int, FirstPost]) -> bool:
    """Return whether moments are nearer to the last replies of threads than to their beginnings."""
    spans = [(moments.at[row], item.at, item.last) for row, item in first.items() if row in moments.at]
    apart = [abs(at - last) < abs(at - began) for at, began, last in spans if began and last and began != last]
    return 2 * sum(apart) > len(apart)


def _nearest(candidates: Sequence[MomentSlot], known: Mapping[int, int | None]) -> MomentSlot | None:
    """Return the moments that are those of the threads' own pages, to a day or, as `11 months ago`, to a part of it."""
    times = {row: at for row, at in known.items() if at is not None}
    now = time.time()
    for candidate in candidates:
        pairs = [(candidate.at[row], at) for row, at in times.items() if row in candidate.at]
        part = 0 if any(map(is_stable, candidate.texts())) else _PART_OF_AGE
        if pairs and all(abs(row - at) <= max(_DAY_S, part * (now - at)) for row, at in pairs):
            return candidate
    return None


def _addresses(listing: Listing, following: Following | None) -> tuple[list[str], bool]:
    """Return the lines about a board's addresses, and whether these cover later pages."""
    link = listing.boards[0] if listing.boards else None
    if link is None or link.has_slug:
        pattern = identity_of(link.shape, "board", link.place) if link else "^(?P<board>/)$"
        return [f"  identity: {scalar(pattern)}{CHECK}"], False
    seen = following.board if following else None
    paged = paged_template(seen.url, following.step.url, seen.key, "board") if following and seen else None
    first = template_of(link.url, link.key, "board")
    lines = [f"  address: {scalar(paged or first)}{CHECK}"]
    if paged and paged.replace("{page}", "1") != first:
        lines.append(f"  first_address: {scalar(first)}")
    return lines, bool(paged)


def _records(listing: Listing, link: str, bare: Document | None) -> list[str]:
    root, rows = listing.document.root, listing.rows
    record = _record_selector(listing, link)
    empty = "usual-empty"
    if _strays(listing, record) or (bare is not None and bare.root.css_first(record) is not None):
        # An empty board may show elements like the rows: a heading, or a row that says that there is none.
        # An advertisement among them has a link to another host, and rows of a table around hold all links.
        narrower = [_holding(record, css) for css in (link, f"{link}[href^='/']", _way_to(rows, link))]
        record, empty = min(narrower, key=partial(_strays, listing)), f"{{first_of: [{empty}, {scalar(record)}]}}"
    if bare is not None and not re.search(EMPTY, lines_of(bare.root.html or "")):
        # The forum has its own words for an empty board, or none.
        around = rows.whole[0].parent
        box = selector_of(root, [around]) if around is not None and around.tag not in ("body", "main") else None
        kept = [css for css in (box, "h1", "h2", "title") if css and bare.root.css_first(css) is not None]
        empty = scalar(kept[0]) if kept else empty
    return [f"  empty: {empty}{CHECK}", f"  record: {scalar(record)}"]


def _way_to(rows: Rows, link: str) -> str:
    """Return the way from rows down to their links, by the tags of the first and, at its end, the links' selector."""
    records = {record.mem_id for record in rows.whole}
    way = [str(node.tag) for node in takewhile(lambda above: above.mem_id not in records, upwards(rows.titles[0].node))]
    steps = link.split(" > ")
    return "> " + " > ".join((*reversed(way[len(steps) :]), *steps))


def _holding(record: str, link: str) -> str:
    """Return the selector of records with a link, whose own selector may begin with that of the record.

    Records that are links themselves, as `a` alone says, hold none.
    """
    if link.startswith("a") and record.rpartition(" ")[2] == "a":
        return f"{record}{link.removeprefix('a')}"
    return f"{record}:has({link.removeprefix(f'{record} ')})"


def _strays(listing: Listing, record: str) -> int:
    """Return the number of elements that a selector finds and that are no rows, and of rows that it does not find."""
    count = 0
    for rows in (listing.rows, *listing.further):
        top = list(upwards(rows.whole[0]))[-1]
        count += len({row.mem_id for row in rows.whole} ^ {node.mem_id for node in top.css(record)})
    return count


def _record_selector(listing: Listing, link: str) -> str:
    """Return the selector of rows that misses fewest on all pages: a list of sub-boards may be before one."""
    every = [rows.whole for rows in (listing.rows, *listing.further)]
    pages = [(list(upwards(whole[0]))[-1], {record.mem_id for record in whole}, whole) for whole in every]
    selectors = dict.fromkeys(filter(None, (selector_of(root, whole) for root, _, whole in pages)))

    def misses(css: str) -> int:
        return sum(len(ids - {node.mem_id for node in root.css(_holding(css, link))}) for root, ids, _ in pages)

    return min(selectors, key=misses, default=str(every[0][0].tag))
