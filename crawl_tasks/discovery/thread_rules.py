"""Thread rules: proposed rules for the thread pages of an unknown program, from several such pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.boilerplate import GUESSED, edited_in
from crawl_tasks.discovery.json_ld_rules import linked_rules, posting_in
from crawl_tasks.discovery.links import PageLink, identity_of, paged_template, template_of
from crawl_tasks.discovery.next_page import GUESS, Step, next_of
from crawl_tasks.discovery.repeated_records import selector_in, upwards
from crawl_tasks.discovery.slots import MomentSlot, Path, Slot, Slots, is_of_author, node_at
from crawl_tasks.discovery.thread_page import FetchedThread, ThreadRecords
from crawl_tasks.discovery.yaml_rules import CHECK, fields_text, indented, scalar
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.parse.rules.siblings import followers

_HEADINGS = ("h1", "h2", "h3", "[class*=title]", "[class*=subject]")
# Parts of a body that are not its author's, or not of the post.
_FOREIGN = (
    "blockquote, [class*=quote], [class*=signature], [class*=sig-], [class*=edited], [class*=postedit],"
    " [class*=updated], [class*=actions], [class*=-options], [class*=codehead]"
)
_MOST_CUT = 5
_PARENTS = ("data-parent", "data-parent-id", "data-parentid", "data-parent-pid")


_Select = Callable[[Sequence[LexborNode], Sequence[LexborNode | None]], str | None]


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


@dataclass(frozen=True, slots=True)
class _Found:
    """Fields that were found in records: rules as YAML, and the values by record."""

    rules: dict[str, str]
    authors: Mapping[int, str]
    at: Mapping[int, int]
    again: Callable[[_Select], dict[str, str]]
    """Returns the rules with selectors of another kind."""

    paths: tuple[Path | None, ...] = (None, None, None)
    """The paths of author, moment and body."""

    form: str = ""
    """The format of moments."""


def thread_rules(
    samples: Sequence[FetchedThread], records: ThreadRecords | None, example: PageLink, of_lists: Step | None, *,
    is_post_inside: bool = True,
) -> ThreadReading:  # fmt: skip
    """Propose `post` and `comment` by a hypothesis: which elements are records, and whether the post is the first.

    Without samples only the address of posts is known. A thread of one page does not show its pager. Then the pager of
    lists is assumed.
    """
    lines = ["post:", _address(samples[0].link if samples else example)]
    if not samples:
        return ThreadReading([*lines, f"  fields: {{title: h1, body: article}}{CHECK}: no thread could be read"])
    largest = max(samples, key=lambda one: len(one.document.page.body))
    link, document = largest.link, largest.document
    inside = {node.mem_id for one in samples for node in (records.parts(one.document) if records else ())}
    steps = [(one, step) for one in samples if (step := next_of(one.document, one.link.key, inside)) is not None]
    following = next((step for one, step in steps if one is largest), steps[0][1] if steps else None)
    if steps and following is steps[0][1]:
        link, document = steps[0][0].link, steps[0][0].document
    known = (of_lists.next if of_lists else "") or GUESS
    posting = posting_in(document)
    if posting is not None and records is None:
        return ThreadReading(linked_rules(posting, lines[1], following.next if following and following.next else known))
    nodes = [records.nodes(one.document) if records is not None else [] for one in samples]
    found = _fields_of([(str(page), node) for page, there in enumerate(nodes) for node in there])
    edited = edited_in([node for there in nodes for node in there])
    if is_post_inside and records is not None:
        post = found.again(_on_pages(samples, records, nodes))
        if not records.siblings:
            # Not every post was edited: the first note on the page may be another post's.
            css = records.css
            post["edited_at"] = scalar(f"{css}:not({records.later}) {edited or f':is({GUESSED})'}")
        starts = [sum(map(len, nodes[:at])) for at in range(len(nodes))]
        authors, began = [found.authors.get(at) for at in starts], [found.at.get(at) for at in starts]
    else:
        whole = _fields_apart(samples, inside, found)
        post = whole.rules | {"edited_at": scalar(edited or GUESSED)}
        authors, began = (
            [whole.authors.get(at) for at in range(len(samples))],
            [whole.at.get(at) for at in range(len(samples))],
        )
    first: dict[int, FirstPost] = {}
    at = 0
    for place, sample in enumerate(samples):
        count = len(nodes[place]) - is_post_inside
        times = [one for one in (found.at.get(at + turn) for turn in range(len(nodes[place]))) if one is not None]
        at += len(nodes[place])
        is_whole = not any(one is sample for one, _ in steps)
        first[sample.row] = FirstPost(
            authors[place] or "",
            began[place],
            count if is_whole else None,
            max(times, default=began[place]) if is_whole else None,
        )
    title = _title(samples)
    lines += fields_text(({"title": title} if title else {}) | post, 2)
    if records is None:
        return ThreadReading([*lines, "# No comments were found: add `comment`, if there are any."], first)
    every = [node for there in nodes for node in there]
    reply = _reply(records, every, found, edited)
    if is_post_inside:
        lines += ["  comments:", *_records(records, records.later, every, found, 4), *fields_text(reply, 4, "reply")]
    paged = (
        paged_template(document.page.url, following.url, link.key, "post") if following and not link.has_slug else None
    )
    more = following.line(has_template=bool(paged)) if following else f"{known}{CHECK}: these threads had a single page"
    address = [f"  address: {scalar(paged)}{CHECK}"] if paged else []
    lines += [f"  {more}", "comment:", *address, "  first_page: 2", *_records(records, records.css, every, found, 2)]
    lines += ["  fields: *reply"] if is_post_inside else fields_text(reply, 2)
    return ThreadReading(lines if more.startswith("pages") else [*lines, f"  {more}"], first)


def _address(link: PageLink) -> str:
    """Return the template of posts, or a rule for the id in an address with words of the title."""
    if link.has_slug:
        return f"  identity: {scalar(identity_of(link.shape, 'post', link.place))}{CHECK}"
    return f"  address: {scalar(template_of(link.url, link.key, 'post'))}"


def _fields_of(named: Sequence[tuple[str, LexborNode]]) -> _Found:
    """Find author, body and moment of records, each with the name of its page."""
    records = [node for _, node in named]
    mine = {node.mem_id for node in records}
    pages = {at: page for at, (page, _) in enumerate(named)}
    slots = Slots(records, {inner.mem_id for node in records for inner in node.css("*") if inner.mem_id in mine}, pages)
    names = slots.names()
    author = names[0] if names else None
    authors = author.texts() if author else {}
    moments = [one for one in slots.moments() if not is_of_author(one.at, authors)]
    moment = moments[0] if moments else None
    apart = [*([author] if author else []), *(one.slot for one in slots.moments())]
    path = slots.body(authors, apart, lambda _: False)
    again = partial(_rules, slots, author, moment, path, authors)
    paths = (author.path if author else None, moment.slot.path if moment else None, path)
    return _Found(again(selector_in), authors, moment.at if moment else {}, again, paths, moment.form if moment else "")


def _rules(
    slots: Slots, author: Slot | None, moment: MomentSlot | None, path: Path | None, authors: Mapping[int, str],
    select: _Select,
) -> dict[str, str]:  # fmt: skip
    count = len(slots.records)
    css = select(slots.records, author.targets(count)) if author else None
    rules = {"author": scalar(css)} if css else {}
    body = slots.at(path) if path is not None else None
    if body is not None and path is not None:
        css = select(slots.records, body.targets(count)) if path else ""
        if css is not None:
            inside = [one for one in (author, moment.slot if moment else None) if one and one.path[: len(path)] == path]
            chrome = [
                one for slot in (*inside, *slots.chrome(path, authors))
                if (one := selector_in(slots.records, slot.targets(count))) is not None
            ]  # fmt: skip
            start = f"css: {scalar(css)}, " if css else ""
            foreign = scalar(", ".join((_FOREIGN, *dict.fromkeys(chrome))))
            rules["body"] = f"{{{start}drop: {foreign}}}"
            whole = f"{{{start}drop: {scalar(', '.join(dict.fromkeys(chrome)))}}}" if chrome else scalar(css)
            rules |= {"body_html": whole} if css else {}
    if moment is not None:
        rules |= moment_text(moment, select(slots.records, moment.slot.targets(count)))
    return rules


def moment_text(moment: MomentSlot, css: str | None, name: str = "created_at") -> dict[str, str]:
    """Return the rule of a moment, none without a selector."""
    if css is None:
        return {}
    parts = [f"css: {scalar(css)}"]
    is_usual = moment.attr == "datetime" and all(node.tag == "time" for node in moment.slot.nodes.values())
    parts += [f"attr: {moment.attr}"] if moment.attr and not is_usual else []
    parts += [f"format: {scalar(moment.form)}"] if moment.form else []
    return {name: scalar(css) if len(parts) == 1 else f"{{{', '.join(parts)}}}"}


def _on_pages(
    samples: Sequence[FetchedThread], records: ThreadRecords, nodes: Sequence[Sequence[LexborNode]]
) -> _Select:
    """Return a function that finds elements of the first record on each page from the top of the page.

    A record of several elements is read in a copy, from which the way leads back to the page.
    """
    pairs = [(one.document.root, place) for place, one in enumerate(samples) if nodes[place]]
    starts = [sum(map(len, nodes[:place])) for _, place in pairs]

    def select(_: Sequence[LexborNode], targets: Sequence[LexborNode | None]) -> str | None:
        found: list[LexborNode | None] = []
        around: list[LexborNode | None] = []
        for (root, place), start in zip(pairs, starts, strict=True):
            whole, target = find_all(root, records.css), targets[start]
            parts = [whole[0], *followers(whole[0], {node.mem_id for node in whole})]
            part, inner = whole[0] if target is not None else None, target
            if records.siblings and target is not None:
                part, inner = _original(nodes[place][0], target, parts)
            found.append(inner)
            around.append(part)
        roots = [root for root, _ in pairs]
        first = next((one for one in around if one is not None), None)
        # The element behind the record, or the record itself: what stands elsewhere on the page is not asked.
        scope = (
            f"{records.css} + {first.tag}" if first is not None and not first.css_matches(records.css) else records.css
        )
        kept = [(one, inner) for one, inner in zip(around, found, strict=True) if one is not None]
        css = selector_in([one for one, _ in kept], [inner for _, inner in kept]) if kept else None
        whole_css = f"{scope} {css}" if css else None
        if whole_css and all(_is_first(root, whole_css, inner) for root, inner in zip(roots, found, strict=True)):
            return whole_css
        return selector_in(roots, found, misses=0)

    return select


def _is_first(root: LexborNode, css: str, target: LexborNode | None) -> bool:
    node = root.css_first(css)
    return (node.mem_id if node is not None else None) == (target.mem_id if target is not None else None)


def _original(
    box: LexborNode, target: LexborNode, parts: Sequence[LexborNode]
) -> tuple[LexborNode | None, LexborNode | None]:
    """Return the part of the page, and the element in the part, whose copy in a box is the target."""
    way: list[int] = []
    node: LexborNode | None = target
    while node is not None and node.mem_id != box.mem_id:
        beside = [] if node.parent is None else [one.mem_id for one in node.parent.iter(include_text=False)]
        way.append(beside.index(node.mem_id))
        node = node.parent
    if box.tag == "table":
        # The parser puts rows into a body of their own.
        way = way[:-1]
    part = parts[way[-1]] if way and way[-1] < len(parts) else None
    found = part
    for place in way[-2::-1] if len(way) > 1 else ():
        inner = [] if found is None else list(found.iter(include_text=False))
        found = inner[place] if place < len(inner) else None
    return part, found


def _fields_apart(samples: Sequence[FetchedThread], inside: Set[int], like: _Found) -> _Found:
    """Find the fields of posts that stand apart from the comments, one on each page."""
    pages = [root for one in samples if (root := one.document.root.css_first("body")) is not None]
    for cut in range(_MOST_CUT):
        # A post mostly looks like its comments, but for the cells or terms in which a comment's parts stand.
        paths = tuple(path[cut:] if path else None for path in like.paths)
        posts = [_alike(root, inside, paths) for root in pages]
        there = [(root, post) for root, post in zip(pages, posts, strict=True) if post is not None]
        if len(there) * 5 >= 4 * len(pages):
            return _of_slots(Slots([post for _, post in there], inside), paths, [root for root, _ in there], like.form)
    slots = Slots(pages, inside)
    titles = {one.link.text for one in samples}
    people = set(like.authors.values())
    names = sorted(slots.names(), key=lambda slot: -sum(text in people for text in slot.texts().values()))
    names = [slot for slot in names if not titles & set(slot.texts().values())]
    author = names[0] if names else None
    authors = author.texts() if author else {}
    moments = slots.moments(known=like.form)
    moment = moments[0] if moments else None
    apart = [*([author] if author else []), *(one.slot for one in moments)]
    trails = [slot for slot in slots.all if any(node.tag in ("nav", "footer", "aside") for node in slot.nodes.values())]
    path = slots.body(
        authors, [*apart, *trails], lambda text: any(one and one in text for one in titles) or text in authors.values()
    )
    again = partial(_rules, slots, author, moment, path, authors)
    return _Found(again(partial(selector_in, misses=0)), authors, moment.at if moment else {}, again)


def _of_slots(slots: Slots, paths: tuple[Path | None, ...], pages: Sequence[LexborNode], form: str) -> _Found:
    """Find the fields of posts at the paths that they have in comments, with selectors from the top of the page."""
    author = slots.at(paths[0]) if paths[0] is not None else None
    moment = next((one for one in slots.moments(0.5, form) if one.slot.path == paths[1]), None)
    authors = author.texts() if author else {}
    again = partial(_rules, slots, author, moment, paths[2], authors)
    rules = again(lambda _, targets: selector_in(pages, targets, misses=0))
    return _Found(rules, authors, moment.at if moment else {}, again)


def _alike(page: LexborNode, inside: Set[int], paths: tuple[Path | None, ...]) -> LexborNode | None:
    """Return the first element outside the comments that has author, moment and body where comments have them."""
    wanted = [path for path in paths if path is not None]
    if len(wanted) < 2 or not all(wanted):
        return None
    for node in page.css("*"):
        found = [node_at(node, path) for path in wanted]
        if all(one is not None and one.text().strip() and not _is_inside(one, inside) for one in found):
            return node
    return None


def _is_inside(node: LexborNode, others: Set[int]) -> bool:
    return any(above.mem_id in others for above in upwards(node))


def _title(samples: Sequence[FetchedThread]) -> str | None:
    """Return the selector of the heading with the text of the thread's link, else of any heading."""
    targets = [_heading(one.document, one.link.text) for one in samples]
    css = selector_in([one.document.root for one in samples], targets)
    if css is not None:
        return scalar(css)
    return next((css for css in _HEADINGS[:3] if samples[0].document.root.css_first(css) is not None), None)


def _heading(document: Document, text: str) -> LexborNode | None:
    said = " ".join(text.split())
    for css in _HEADINGS:
        for node in document.root.css(css):
            if said in " ".join(node.text().split()):
                # The heading may also hold `(page 1 of 5)` or `[closed]`, outside of the link within.
                inner = [one for one in (node, *node.css("*")) if " ".join(one.text().split()) == said]
                return inner[-1] if inner else node
    return None


def _records(records: ThreadRecords, css: str, nodes: Sequence[LexborNode], found: _Found, by: int) -> list[str]:
    lines = [f"record: {scalar(css)}{CHECK}", *(["siblings: true"] if records.siblings else [])]
    lines += ["nesting: nested"] if records.is_nested(nodes) else []
    if not records.key:
        lines.append(f"id_of: [{', '.join(name for name in ('author', 'created_at', 'body') if name in found.rules)}]")
    return indented(lines, by)


def _reply(records: ThreadRecords, nodes: Sequence[LexborNode], found: _Found, edited: str | None) -> dict[str, str]:
    names = {name for node in nodes for name in node.attributes}
    parents = [{"parent_id": f"{{attr: {name}}}"} for name in _PARENTS if name in names]
    key = {"comment_id": records.key} if records.key else {}
    return {**key, **(parents[0] if parents else {}), **found.rules, "edited_at": scalar(edited or GUESSED)}
