"""List rules: proposed rules for the list pages of an unknown program, from one such page."""

from __future__ import annotations

import re
from dataclasses import dataclass

from crawl_tasks.discovery.first_post import FirstPost
from crawl_tasks.discovery.links import PageLink, identity_of, paged_template, template_of
from crawl_tasks.discovery.next_page import GUESS, Step
from crawl_tasks.discovery.repeated_records import Rows, moment_rule, selector_in, selector_of
from crawl_tasks.discovery.reply_counts import count_rules, words_of
from crawl_tasks.discovery.thread_page import author_in
from crawl_tasks.discovery.timestamps import moment_of, times_in
from crawl_tasks.discovery.vocabulary import EMPTY, LATEST
from crawl_tasks.discovery.yaml_rules import CHECK, fields_text, scalar
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.values.text import lines as lines_of

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Listing:
    """A list page, and the boards of the same kind, its own first. No boards for a front page."""

    document: Document
    rows: Rows
    boards: tuple[PageLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Following:
    """The pager of lists, and the board whose first page shows the pager."""

    step: Step
    board: PageLink | None


def list_rules(
    listing: Listing,
    following: Following | None,
    empty: Document | None = None,
    known: FirstPost | None = None,
) -> list[str]:
    """Propose `list`. `empty` is the page of a board without threads, `known` the first post of one of the threads."""
    rows = listing.rows
    title = selector_in(rows.records, [link.node for link in rows.titles]) or "a"
    addresses, has_template = _addresses(listing, following)
    lines = ["list:", *addresses, *_records(listing, title, empty), *(["  siblings: true"] if rows.siblings else [])]
    fields = {"post_id": f"{{css: {scalar(title)}, attr: href, regex: {scalar(_id_regex(rows.titles[0]))}}}"}
    if rows.titles[0].has_slug:
        fields["url"] = f"{{css: {scalar(title)}, attr: href}}"
    author = _author_rule(rows, known)
    fields |= {"title": scalar(title), **({"author": author} if author else {})}
    fields |= count_rules(rows.records, known) | _moments(rows, known)
    lines += fields_text(fields, 2)
    # A count alone misses a thread that lost one reply and got another.
    signs = [name for name in ("reply_count", "last_reply_at") if name in fields]
    lines += [f"  revision: [{', '.join(signs)}]"] if signs else []
    more = (
        following.step.line(has_template=has_template) if following else f"{GUESS}{CHECK}: no board had a second page"
    )
    return [*lines, f"  {more}"]


def _author_rule(rows: Rows, known: FirstPost | None) -> str | None:
    """Return the rule of the authors, unless a known thread's own page names another author than its row."""
    css = author_in(rows.records, [link.node for link in rows.titles])
    node = known.row.css_first(css) if known is not None and css else None
    if css is None or known is None or not known.author or node is None:
        return css and scalar(css)
    said, before = " ".join(node.text().split()), ""
    if said != known.author:
        before = said.removesuffix(known.author).strip()
        if not said.endswith(known.author) or not before:
            return None
    return f"{{css: {scalar(css)}, regex: {scalar(f'^{re.escape(before)} *(.+)$')}}}" if before else scalar(css)


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


def _records(listing: Listing, title: str, bare: Document | None) -> list[str]:
    root, rows = listing.document.root, listing.rows
    record = selector_of(root, rows.whole) or str(rows.whole[0].tag)
    empty = f"{{css: body, text: lines, regex: {scalar(EMPTY)}}}"
    if len(root.css(record)) > len(rows.whole) or (bare is not None and bare.root.css_first(record) is not None):
        # An empty board may show elements like the rows: a heading, or a row that says that there is none.
        record, empty = f"{record}:has({title})", f"{{first_of: [{empty}, {scalar(record)}]}}"
    if bare is not None and not re.search(EMPTY, lines_of(bare.root.html or "")) and "first_of" not in empty:
        around = rows.whole[0].parent
        box = selector_of(root, [around]) if around is not None and around.tag != "body" else None
        kept = [css for css in (box, "h1", "h2", "title") if css and bare.root.css_first(css) is not None]
        empty = scalar(kept[0]) if kept else empty
    return [f"  empty: {empty}{CHECK}", f"  record: {scalar(record)}"]


def _moments(rows: Rows, known: FirstPost | None) -> dict[str, str]:
    first, last = moment_rule(rows.records), moment_rule(rows.records, place=-1)
    if first and not last and (LATEST.search(first) or _are_latest(rows) or (known and _is_later(known))):
        first, last = None, first
    return {name: rule for name, rule in (("created_at", first), ("last_reply_at", last)) if rule}


def _are_latest(rows: Rows) -> bool:
    times = [times_in(record) for record in rows.records]
    return all(not one or LATEST.search(words_of(one[0])) for one in times)


def _is_later(known: FirstPost) -> bool:
    """Return whether the moment in a thread's row lies a day or more after the first post."""
    times = times_in(known.row)
    said = moment_of(times[0]) if times else None
    return said is not None and known.at is not None and said - known.at > _DAY_S


def _id_regex(link: PageLink) -> str:
    """Return a regex for the id in a link as written: an address on the page may be relative."""
    pattern = identity_of(link.shape, "id", link.place).strip("^$").replace("(?P<id>", "(")
    href = link.node.attributes.get("href") or ""
    while "/" in pattern and not re.search(pattern, href):
        pattern = pattern.partition("/")[2]
    return pattern
