"""Record coverage: elements of a page that look like records of the rules, and are none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.links.links import place_in
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.discovery.records.boilerplate import is_dropped, quotes_in
from crawl_tasks.discovery.records.record_queries import element_beside
from crawl_tasks.discovery.records.repeated_records import upwards
from crawl_tasks.discovery.records.slot_texts import is_name
from crawl_tasks.discovery.records.slots import step_of
from crawl_tasks.discovery.records.thread_page import ThreadRecords
from crawl_tasks.discovery.text.timestamps import attribute_of, times_in
from crawl_tasks.discovery.text.vocabulary import REPLIES
from crawl_tasks.model import Parsed, Stage
from crawl_tasks.parse.document import Document, find_all, matches
from crawl_tasks.parse.pagination_links import is_in
from crawl_tasks.sites.field_rules import Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import CommentSpec, Format, ListSpec, Records

_FOLDED = re.compile(r"(?:\D{0,16} )?\d{1,4}\D{1,24}")
_LINKED = re.compile(r"\ba\[[^ ]*$")
_NEAR = 2
"""Levels by which places within a record are compared."""


def coverage_checks(site: Site, trials: Sequence[DryRun]) -> Iterator[SiteCheck]:
    """Yield what refutes the rules of records: a record more on a page, or a text with the time of its record."""
    posts = site.post.comments or site.comment
    labels, texts = Counter[str](), dict[str, str]()
    for one in trials:
        stage, where = one.request.stage, one.request.address
        rules = {Stage.LIST: site.list, Stage.POST: posts, Stage.COMMENT: site.comment}[stage]
        spec = site.stages.get(stage)
        if rules is None or spec is None or spec.format != Format.HTML or spec.embedded is not None:
            continue
        record, mark = rules.record, rules.fields.get("created_at")
        mark = rules.fields.get("title", mark) if stage is Stage.LIST else mark
        if one.page is None or one.parsed is None or record is None or not record.css or mark is None or not mark.css:
            continue
        document = Document(one.page)
        records = ThreadRecords(record.css, siblings=rules.siblings)
        # The post itself stands where its comments do, or apart, and perhaps on later pages again.
        text, own = (_first(document, site.post.fields.get(name)) for name in ("body", "created_at"))
        said = text.text() if text is not None else ""
        if said != texts.setdefault(one.request.key, said) or stage is Stage.LIST:
            own = None
        is_apart = own is None and stage is Stage.POST and site.post.begins is None
        more = _more_than(document, records, mark.css, own) - is_apart
        if more > 0:
            yield SiteCheck("every record of a page is read", False, f"{more} more look like one on {where}")
            return
        if stage is Stage.LIST:
            continue
        if stage is Stage.POST and _is_torn(document, site):
            yield SiteCheck("a post's fields stand in one record", False, f"not those of {where}")
            return
        nodes = records.nodes(document)
        if _is_uneven(nodes, rules.fields.get("body"), mark):
            yield SiteCheck("texts of all comments stand at one place", False, f"not those of {where}")
            return
        if lack := next(_lacks(site, rules, document, nodes, mark.css), None):
            yield SiteCheck(lack[0], False, f"{lack[1]} on {where}")
            return
        labels.update(_labels(one.parsed, nodes, rules.fields.get("body")))
        if label := next((name for name, times in labels.items() if times > 1), None):
            yield SiteCheck("authors of threads are no labels", False, f"all comments hold {label!r}, also on {where}")
            return
        # An advertisement among the comments has no time.
        timed = [node for node in nodes if node.css_first(mark.css) is not None]
        if lost := _nameless(timed, rules.fields.get("author")):
            yield SiteCheck("every author is read", False, f"not {lost!r} on {where}")
            return


def _lacks(
    site: Site, rules: ListSpec | CommentSpec | Records, document: Document, nodes: Sequence[LexborNode], mark: str
) -> Iterator[tuple[str, str]]:
    """Yield what the records of a thread's page lack, each as the name of a check and its details.

    `mark` finds the time of a record.
    """
    body, author = rules.fields.get("body"), rules.fields.get("author")
    if not rules.siblings and (inner := _within(nodes, rules.fields, mark)):
        yield "replies within a comment are read", f"{inner} of a comment are not"
    if folded := _folded(document, nodes):
        yield "all replies stand on the page", f"{folded!r} leads to some"
    if guest := _guest(nodes, author, site.post.fields.get("author")):
        yield "authors of posts need no page of their own", f"{guest!r} has none"
    if quote := _quote(nodes, body, author):
        yield "texts of comments are without quotes", f"not without {quote!r:.80}"


def gaps_in(site: Site, trial: DryRun) -> int:
    """Return the number of elements beside comments, and like them, that a rule leaves out: `.post:has(time)`."""
    rules = site.post.comments or site.comment
    css = (rules.record.css or "") if rules is not None and rules.record is not None else ""
    bare = ThreadRecords(css).bare
    if site.engine is not None or trial.page is None or bare == css:
        return 0
    root = Document(trial.page).root
    records = find_all(root, css)
    around = {place_in(one)[1 : 1 + _NEAR] for one in records}
    return sum(place_in(one)[1 : 1 + _NEAR] in around for one in find_all(root, bare)) - len(records)


def _is_torn(document: Document, site: Site) -> bool:
    """Return whether author or time of a post stand in another record than the text: the copy of a best answer."""
    record = site.comment.record if site.comment is not None else None
    if site.comment is None or record is None or not record.css or site.comment.siblings:
        return False
    mine = {node.mem_id for node in find_all(document.root, record.css)}
    found = (_first(document, site.post.fields.get(name)) for name in ("author", "created_at", "body"))
    around = (next((above.mem_id for above in upwards(node) if above.mem_id in mine), None) for node in found if node)
    return len({one for one in around if one is not None}) > 1


def _first(document: Document, rule: Rule | None) -> LexborNode | None:
    return document.root.css_first(rule.css) if rule is not None and rule.css else None


def _within(records: Sequence[LexborNode], rules: Mapping[str, Rule], mark: str) -> int:
    """Return the number of elements in the first record with any that hold author and moment as it does."""
    author, body = rules.get("author"), rules.get("body")
    mine = {one.mem_id for one in records}
    for record in records:
        moments = [*map(list, map(upwards, find_all(record, mark)))]
        depth = next((at for at, one in enumerate(moments[0]) if one.mem_id == record.mem_id), 0) if moments else 0
        boxes = {way[depth].mem_id: way[depth] for way in moments[1:] if depth and len(way) > depth}
        found = [
            one for key, one in boxes.items()
            if key not in mine and one.tag == record.tag and author and author.css and one.css_first(author.css)
            and not (body and body.drop and any(matches(above, body.drop) for above in upwards(one)))
        ]  # fmt: skip
        if found:
            return len(found)
    return 0


def _folded(document: Document, records: Sequence[LexborNode]) -> str:
    """Return the text of a link to replies that stands where a record would: `3 more replies`."""
    # The item of a list may hold a record and, beside, its replies.
    items = [one.parent for one in records if one.parent is not None and one.parent.tag == "li"]
    tags = {one.tag for one in (*records, *items)}
    mine = {one.mem_id for one in (*records, *items)}
    for link in document.root.css("a, button"):
        text = " ".join(link.text().split())
        if not (_FOLDED.fullmatch(text) and REPLIES.search(text)):
            continue
        around = list(upwards(link))
        alone = [one for one in around if " ".join(one.text().split()) == text]
        if mine & {one.mem_id for one in around} and any(one.tag in tags for one in alone):
            return text
    return ""


def _more_than(document: Document, records: ThreadRecords, mark: str, own: LexborNode | None) -> int:
    """Return the number of elements, outside of all records, with a mark where records have theirs.

    The element around `own` is not counted: the moment of the post.
    """
    depths: dict[tuple[str, ...], int] = {}
    for record in find_all(document.root, records.css):
        if (node := record.css_first(mark)) is not None:
            above = [one.mem_id for one in upwards(node)]
            depths[place_in(node)] = above.index(record.mem_id) if record.mem_id in above else 0
    mine = {part.mem_id for part in records.parts(document)}
    found: dict[int, LexborNode] = {}
    for node in find_all(document.root, mark):
        depth, around = depths.get(place_in(node)), list(upwards(node))
        if depth is None or depth >= len(around) or any(one.mem_id in mine for one in around):
            continue
        if times_in(around[depth]) or attribute_of(node) is not None:
            found[around[depth].mem_id] = around[depth]
    # Of a record of several elements only the first counts.
    mine = set() if own is None else {one.mem_id for one in upwards(own)}
    before = [element_beside(one, -1) if records.siblings else None for key, one in found.items() if key not in mine]
    return sum(one is None or one.mem_id not in found for one in before)


def _is_uneven(records: Sequence[LexborNode], body: Rule | None, time: Rule) -> bool:
    """Return whether the texts of some records hold the record's time, and those of others do not."""
    if body is None or not body.css or not time.css:
        return False
    holds = []
    for record in records:
        text, said = record.css_first(body.css), record.css_first(time.css)
        if text is not None and said is not None:
            holds.append(any(one.mem_id == text.mem_id for one in upwards(said)))
    return len(set(holds)) > 1


def _guest(records: Sequence[LexborNode], author: Rule | None, of_post: Rule | None) -> str:
    """Return the name of a comment's author without a link, where the rule for the post's author asks for one."""
    if author is None or not author.css or of_post is None or not _LINKED.search(of_post.css or ""):
        return ""
    named = [node for record in records if (node := record.css_first(author.css)) is not None]
    bare = (node for node in named if not any(above.tag == "a" for above in upwards(node)))
    return next((text for node in bare if (text := node.text().strip()) and node.css_first("a") is None), "")


def _quote(records: Sequence[LexborNode], body: Rule | None, author: Rule | None) -> str:
    """Return the text of an element within a record's text that repeats another record, with its author's name."""
    if body is None or not body.css or author is None or not author.css:
        return ""
    named = {at: one.text().strip() for at, record in enumerate(records) if (one := record.css_first(author.css))}
    for record, box in quotes_in(records, named):
        text = record.css_first(body.css)
        around = list(upwards(box))
        is_inside = text is not None and text.mem_id in {one.mem_id for one in around[1:]}
        if is_inside and not (body.drop and is_dropped(box, body.drop)):
            return " ".join(box.text().split())
    return ""


def _labels(parsed: Parsed, records: Sequence[LexborNode], body: Rule | None) -> Iterator[str]:
    """Yield the name of a thread's author if all records hold it before their text, though others wrote them."""
    above = [list(takewhile(lambda node: not (body and body.css and matches(node, body.css)), one.css("*")))
             for one in records]  # fmt: skip
    for author in (post.author for post in parsed.items.posts if post.author):
        others = sum(one.author != author for one in parsed.items.comments)
        if len(records) >= FEW and 2 * others >= len(records):
            is_everywhere = all(any(node.text().strip() == author for node in one) for one in above)
            yield from (author,) * is_everywhere


def _nameless(records: Sequence[LexborNode], author: Rule | None) -> str | None:
    """Return the name that stands in a record where others have their author, and that is not the author read."""
    if author is None or not author.css:
        return None
    found = [record.css_first(author.css) for record in records]
    places = [None if one is None else (step_of(one), *place_in(one)[1:_NEAR]) for one in found]
    usual = Counter(place for place in places if place is not None).most_common(1)
    around = {
        place_in(one.parent)[:_NEAR]
        for one, place in zip(found, places, strict=True)
        if one is not None and one.parent is not None and place == usual[0][0]
    }
    for record, one, place in zip(records, found, places, strict=True):
        if not usual or place == usual[0][0]:
            continue
        within = {node.mem_id for other in records if is_in(other.parent, {record.mem_id}) for node in other.css("*")}
        inner = [
            node
            for node in record.css("*")
            if node.parent and node.mem_id not in within and place_in(node.parent)[:_NEAR] in around
        ]
        said = [" ".join(node.text().split()) for node in inner if one is None or node.mem_id != one.mem_id]
        if any(map(is_name, said)):
            return next(filter(is_name, said))
    return None
