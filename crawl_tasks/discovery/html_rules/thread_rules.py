"""Thread rules: proposed rules for the thread pages of an unknown program, from several such pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.html_rules.first_post import fields_apart, on_pages
from crawl_tasks.discovery.html_rules.json_ld_rules import linked_rules, posting_in
from crawl_tasks.discovery.html_rules.thread_board import board_rule
from crawl_tasks.discovery.links.address_shape import identity_of, shared_start
from crawl_tasks.discovery.links.address_template import paged_template, template_of
from crawl_tasks.discovery.links.links import PageLink
from crawl_tasks.discovery.records.author_text import number_in
from crawl_tasks.discovery.records.next_page import GUESS, Step, back_of, next_of
from crawl_tasks.discovery.records.record_fields import FoundFields, fields_of, in_records
from crawl_tasks.discovery.records.record_queries import selector_in
from crawl_tasks.discovery.records.thread_page import FetchedThread, ThreadRecords
from crawl_tasks.discovery.text.yaml_rules import CHECK, fields_text, indented, literal, scalar
from crawl_tasks.parse.document import Document, matches

_LABEL_END = re.compile(r"\s?[^\w\s]+\s$")
"""The end of a label: `Board: ` or `Board > `."""
_HEADINGS = ("h1", "h2", "h3", "[class*=title]", "[class*=subject]", "h4, h5, h6")
_LEAST = 0.8
_FIRST = re.compile(r"^[^\s:,]+ (?:> )?")
_PARENTS = ("data-parent", "data-parent-id", "data-parentid", "data-parent-pid")


@dataclass(frozen=True, slots=True)
class FirstPost:
    """Author and moment of a thread's first post, and the number of replies on the page, where it is the only one."""

    author: str = ""
    at: int | None = None
    replies: int | None = None
    last: int | None = None


@dataclass(frozen=True, slots=True)
class ThreadReading:
    """The lines of rules for threads, and what they read of the samples, by the number of the row."""

    lines: list[str]
    first: Mapping[int, FirstPost] = field(default_factory=dict)
    is_post_above: bool = False
    """Whether the post is a record, and is above the others in place of beside them."""


def thread_rules(
    samples: Sequence[FetchedThread], records: ThreadRecords | None, example: PageLink, of_lists: Step | None, *,
    is_titled: bool = True, is_post_inside: bool = True, is_post_repeated: bool = False, board: PageLink | None = None,
) -> ThreadReading:  # fmt: skip
    """Propose `post` and `comment` by a hypothesis: which elements are records, and whether the post is the first.

    With `is_titled` the texts of links to threads are titles. With `is_post_repeated` the post is the first on later
    pages too. `board` is a board's link. Without samples only the address of posts is known. A thread of one page does
    not show its pager. Then the pager of lists is assumed.
    """
    lines = ["post:", _address(samples[0].link if samples else example)]
    if not samples:
        return ThreadReading([*lines, f"  fields: {{title: h1, body: article}}{CHECK}: no thread could be read"])
    largest = max(samples, key=lambda sample: len(sample.document.page.body))
    inside = _parts(samples, records)
    steps = _steps(samples, inside, largest)
    shown, following = steps[0] if steps else (largest, None)
    known = (of_lists.next if of_lists else "") or GUESS
    posting = posting_in(shown.document)
    if posting is not None and records is None:
        return ThreadReading(linked_rules(posting, lines[1], following.next if following and following.next else known))
    nodes = [records.nodes(sample.document) if records is not None else [] for sample in samples]
    groups = list(zip(samples, nodes, strict=True))
    fields = fields_of([(sample.link.text, node) for sample, group in groups for node in group])
    every = [node for group in nodes for node in group]
    later = ""
    if records is not None:
        records = records if records.key else replace(records, key=_number(fields))
        narrower = _with_moments(records, every, fields)
        if narrower is not None:
            return thread_rules(
                samples, narrower, example, of_lists,
                is_titled=is_titled, is_post_inside=is_post_inside, is_post_repeated=is_post_repeated, board=board,
            )  # fmt: skip
        later = records.later([sample.document for sample, group in groups if group])
    post, whole, starts = _post(samples, records, nodes, fields, later, inside, is_post_inside=is_post_inside)
    began = [(whole.authors.get(at) or "", whole.at.get(at)) for at in starts]
    first = _first_posts(samples, [sample for sample, _ in steps], nodes, fields, began, is_post_inside=is_post_inside)
    heading = {"title": _title(samples, is_titled=is_titled), "forum_id": board_rule(samples, board, inside)}
    lines += fields_text({name: rule for name, rule in heading.items() if rule} | post, 2)
    if records is None:
        return ThreadReading([*lines, "# No comments were found: add `comment`, if there are any."], first)
    more, address = _pager(shown, following, known)
    # A page may have the places of only removed posts.
    address += [f"  empty: {scalar(records.bare)}"] * records.leaves_out([sample.document for sample in samples])
    css = later if is_post_repeated else records.css
    reply = _reply(records, every, fields)
    behind = ["comment:", *address, "  first_page: 2", *_records(records, css, every, fields, 2)]
    if is_post_inside:
        lines += ["  comments:", *_records(records, later, every, fields, 4), *fields_text(reply, 4, "reply")]
        behind += ["  fields: *reply"]
    else:
        behind += fields_text(reply, 2)
    lines += [f"  {more}", *behind]
    if not more.startswith("pages"):
        lines.append(f"  {more}")
    return ThreadReading(lines, first, is_post_inside and " ~ * " in later)


def _parts(samples: Sequence[FetchedThread], records: ThreadRecords | None) -> set[int]:
    """Return what is within the records."""
    inside: set[int] = set()
    if records is not None:
        for sample in samples:
            inside |= {node.mem_id for node in records.parts(sample.document)}
    return inside


def _post(
    samples: Sequence[FetchedThread], records: ThreadRecords | None, nodes: Sequence[Sequence[LexborNode]],
    fields: FoundFields, later: str, inside: Set[int], *, is_post_inside: bool,
) -> tuple[dict[str, str], FoundFields, list[int]]:  # fmt: skip
    """Return the fields of the post, what they find, and the places of the first posts therein."""
    if not is_post_inside or records is None:
        whole = fields_apart(samples, inside, fields)
        return {"edited_at": scalar(fields.edited or "usual-edits")} | whole.rules, whole, list(range(len(samples)))
    post = fields.again(on_pages(samples, records, nodes))
    if not records.siblings:
        # Not every post was edited: the first note on the page may be another post's.
        post.setdefault("edited_at", scalar(f"{records.css}:not({later}) {fields.edited or ':is(usual-edits)'}"))
    return post, fields, [sum(map(len, nodes[:at])) for at in range(len(nodes))]


def _steps(
    samples: Sequence[FetchedThread], inside: Set[int], largest: FetchedThread
) -> list[tuple[FetchedThread, Step]]:
    """Return the threads with further pages, and the way there: one that is read back first, then the largest."""
    steps = [
        (sample, step) for sample in samples
        if (step := back_of(sample.document, inside) or next_of(sample.document, sample.link.key, inside)) is not None
    ]  # fmt: skip
    return sorted(steps, key=lambda pair: (not pair[1].is_back, pair[0] is not largest))


def _pager(shown: FetchedThread, following: Step | None, known: str) -> tuple[str, list[str]]:
    """Return the line that finds the next page of a thread, and that of an address by numbers where there is one."""
    if following is None:
        return f"{known}{CHECK}: these threads had a single page", []
    link, url = shown.link, shown.document.page.url
    paged = None if link.has_slug or following.is_back else paged_template(url, following.url, link.key, "post")
    return following.line(has_template=bool(paged)), [f"  address: {scalar(paged)}{CHECK}"] if paged else []


def _with_moments(records: ThreadRecords, nodes: Sequence[LexborNode], fields: FoundFields) -> ThreadRecords | None:
    """Return narrower records where some have neither author nor moment: the places of removed posts."""
    bare = [at for at in range(len(nodes)) if at not in fields.authors and at not in fields.at]
    slot = fields.slots.at(fields.paths[1]) if fields.paths[1] is not None else None
    css = in_records(fields.slots, slot) if slot is not None and 0 < 2 * len(bare) < len(nodes) else None
    if css is None or slot is None:
        return None
    # The place of a removed post may have replies within, so that the whole way from the record to the moment tells.
    tags = [re.split(r"[ .]", step)[0] for step in slot.path[:-1]]
    way = [" > ".join(("", *tags, css if "(" in css else css.rpartition(" ")[2])).lstrip()] * (not records.siblings)
    # The first part of a selector may be the record itself.
    for inner in (*way, css, _FIRST.sub("", css)):
        narrower = f"{records.css}:has({inner})"
        fit = [bool(node.css(narrower)) if records.siblings else matches(node, narrower) for node in nodes]
        if not any(fit[at] for at in bare) and _LEAST * (len(nodes) - len(bare)) <= sum(fit):
            return replace(records, css=narrower)
    return None


def _first_posts(
    samples: Sequence[FetchedThread], paged: Sequence[FetchedThread], nodes: Sequence[Sequence[LexborNode]],
    fields: FoundFields, began: Sequence[tuple[str, int | None]], *, is_post_inside: bool,
) -> dict[int, FirstPost]:  # fmt: skip
    """Return the first posts by row, with the replies of those threads that have a single page."""
    first: dict[int, FirstPost] = {}
    at = 0
    for place, sample in enumerate(samples):
        count = len(nodes[place])
        moments = [fields.at.get(number) for number in range(at, at + count)]
        at += count
        is_whole = not any(other is sample for other in paged)
        times = [moment for moment in moments if moment is not None]
        last = max(times, default=began[place][1]) if is_whole else None
        first[sample.row] = FirstPost(*began[place], count - is_post_inside if is_whole else None, last)
    return first


def _address(link: PageLink) -> str:
    """Return the template of posts, or a rule for the id in an address with words of the title."""
    if link.has_slug:
        return f"  identity: {scalar(identity_of(link.shape, 'post', link.place, is_whole=link.has_board))}{CHECK}"
    return f"  address: {scalar(template_of(link.url, link.key, 'post'))}"


def _title(samples: Sequence[FetchedThread], *, is_titled: bool) -> str | None:
    """Return the selector of the heading with the text of the thread's link, else of any heading."""
    headings = [_headings(sample.document, sample.link.text) for sample in samples]
    roots = [sample.document.root for sample in samples]
    # A heading with only the title is the better one: of `Old lamp > General` only a part is the title.
    exact = [next((node for node in nodes if _is_said(node, text)), None) for text, nodes in headings]
    css = selector_in(roots, exact) if None not in exact else None
    targets = exact if css else [next(iter(nodes), None) for _, nodes in headings]
    css = css or selector_in(roots, targets)
    if css is not None:
        pairs = [(sample.link.text, target) for sample, target in zip(samples, targets, strict=True)]
        return _title_rule(css, [(text, target) for text, target in pairs if target is not None])
    for css in _HEADINGS[:3]:
        nodes = [root.css_first(css) for root in roots]
        texts = {node.text().strip() for node in nodes if node is not None}
        # Without titles in lists, a heading is one where it differs from thread to thread.
        is_heading = nodes[0] is not None if is_titled else len(texts) == len(samples)
        if is_heading:
            return css
    return None


def _title_rule(css: str, titles: Sequence[tuple[str, LexborNode]]) -> str:
    """Return the rule of a title by its selector, and by what headings have beside the texts of links."""
    is_own = any(node.text().split() != text.split() == node.text(deep=False).split() for text, node in titles)
    regex = "" if is_own else _label(titles)
    parts = [f"css: {scalar(css)}", *["text: own"] * is_own, *[f"regex: {scalar(regex)}"] * bool(regex)]
    return scalar(css) if len(parts) == 1 else f"{{{', '.join(parts)}}}"


def _number(fields: FoundFields) -> str:
    """Return the rule of the ids in bylines, empty without such."""
    slot = fields.slots.at(fields.paths[0]) if fields.paths[0] is not None and fields.regex else None
    css = in_records(fields.slots, slot) if slot is not None else None
    number = number_in(fields.slots, slot.path) if slot is not None else ""
    return f"{{css: {scalar(css)}, regex: {scalar(number)}}}" if css and number else ""


def _label(titles: Sequence[tuple[str, LexborNode]]) -> str:
    """Return the regex of titles behind a label: the same on all pages, or one that ends alike, as the board's name."""
    pairs = [(" ".join(text.split()), " ".join(node.text().split())) for text, node in titles]
    labels = [heading.removesuffix(text) for text, heading in pairs if heading.endswith(text)]
    if len(labels) < len(pairs) or not all(labels):
        return ""
    if len(set(labels)) == 1:
        return rf"(?s)^\s*{literal(labels[0])}(.+)$"
    mark = _LABEL_END.search(shared_start([label[::-1] for label in labels])[::-1])
    counts = {label.count(mark[0]) for label in labels} if mark else set()
    return "(?s)^" + f"(?:.*?{literal(mark[0])})" * counts.pop() + "(.+)$" if mark and len(counts) == 1 else ""


def _headings(document: Document, text: str) -> tuple[str, list[LexborNode]]:
    """Return a title as pages say it, and the headings with it, or the elements in them with nothing else."""
    # Lists cut long titles.
    title = " ".join(text.removesuffix("...").removesuffix("…").split())
    around = [node for css in _HEADINGS for node in document.root.css(css) if title in " ".join(node.text().split())]
    # The heading may also hold `(page 1 of 5)` or `[closed]`, outside of the link within.
    inner = [[inside for inside in (node, *node.css("*")) if _is_said(inside, title)] for node in around]
    return title, [exact[-1] if exact else node for node, exact in zip(around, inner, strict=True)]


def _is_said(node: LexborNode, text: str) -> bool:
    return " ".join(node.text().split()) == text


def _records(records: ThreadRecords, css: str, nodes: Sequence[LexborNode], fields: FoundFields, by: int) -> list[str]:
    lines = [f"record: {scalar(css)}{CHECK}", *(["siblings: true"] if records.siblings else [])]
    lines += ["nesting: nested"] if records.is_nested(nodes) else []
    if not records.key:
        names = [name for name in ("author", "created_at", "body") if name in fields.rules]
        lines.append(f"id_of: [{', '.join(name for name in names if name[0] != 'c' or not fields.is_moving)}]")
    return indented(lines, by)


def _reply(records: ThreadRecords, nodes: Sequence[LexborNode], fields: FoundFields) -> dict[str, str]:
    names = {name for node in nodes for name in node.attributes}
    parents = [{"parent_id": f"{{attr: {name}}}"} for name in _PARENTS if name in names]
    key = {"comment_id": records.key} if records.key else {}
    return {
        **key,
        **(parents[0] if parents else {}),
        "edited_at": scalar(fields.edited or "usual-edits"),
        **fields.rules,
    }
