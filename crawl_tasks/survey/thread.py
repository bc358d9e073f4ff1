"""Before step 1, survey: the post and the comments on a thread page of an unknown program."""

from __future__ import annotations

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.survey.links import PEOPLE
from crawl_tasks.survey.moments import times_in
from crawl_tasks.survey.records import selector_in, selector_of

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"[A-Za-z_-]*?({_UUID}|\d+)")
_NOT_AN_ID = re.compile(r"parent|user|author|time|date|depth|index|count|votes?|level|page|score", re.IGNORECASE)
_BODIES = (
    "[itemprop=articleBody], [itemprop=text], [class*=body], [class*=content], [class*=message], [class*=text],"
    " [class*=Body], [class*=Content], .post, .comment"
)
_AUTHORS = (
    "[itemprop=author] [itemprop=name], [rel=author], [class*=author], [class*=username], [class*=user], "
    "[class*=poster], a[href]"
)
_FEW = 20


@dataclass(frozen=True, slots=True)
class Records:
    """Elements that are one post each, how they are found, and the attribute with their ids."""

    nodes: list[LexborNode]
    css: str
    attr: str
    prefix: str
    key: str = r"\d+"

    @property
    def is_nested(self) -> bool:
        """Say whether one stands inside another."""
        mine = {node.mem_id for node in self.nodes}
        return any(self._inside(node, mine) for node in self.nodes)

    @staticmethod
    def _inside(node: LexborNode, mine: set[int]) -> bool:
        above = node.parent
        while above is not None:
            if above.mem_id in mine:
                return True
            above = above.parent
        return False


def find_comments(document: Document) -> Records | None:
    """Return the elements with ids of their own that hold most of the page's words, with an author or a time each."""
    groups: dict[tuple[str, str, str], list[tuple[str, LexborNode]]] = {}
    for node in document.root.css("body *"):
        for name, value in node.attributes.items():
            if name != "id" and not name.startswith("data-"):
                continue
            found = _ID.fullmatch(value or "")
            if found and not _NOT_AN_ID.search(name):
                prefix = (value or "")[: found.start(1)]
                groups.setdefault((str(node.tag), name, prefix), []).append((found[1], node))
    best: tuple[float, Records] | None = None
    for (_, attr, prefix), members in groups.items():
        nodes = [node for _, node in members]
        if len(members) < 2 or len({key for key, _ in members}) < len(members):
            continue
        alive = sum(bool(times_in(node)) for node in nodes) / len(nodes)
        words = sum(min(len(node.text()), 2000) for node in nodes) * (0.05 + alive)
        # Numbers without a gap count the comments of a thread, or of a page: take ids where there are any.
        score = words * (0.9 if _counts_up([key for key, _ in members]) else 1)
        css = selector_of(document.root, nodes)
        if css is not None and len(document.root.css(css)) > len(nodes):
            css += f"[{attr}]"  # the post may look as they do, and have no id
        if css is not None and (best is None or score > best[0]):
            best = (score, Records(nodes, css, attr, prefix, r"\d+" if members[0][0].isdigit() else "[0-9a-f-]{36}"))
    return best[1] if best is not None else None


def _counts_up(keys: list[str]) -> bool:
    first = int(keys[0]) if keys[0].isdigit() else 2
    return first < 2 and keys == [str(number) for number in range(first, first + len(keys))]


def find_post(document: Document, comments: Records | None) -> LexborNode | None:
    """Return the element around the post where it stands apart from the comments; None where it is one of them."""
    inside = {node.mem_id for node in (comments.nodes if comments else ())}
    apart = [
        node
        for node in document.root.css(_BODIES)
        if node.tag not in ("body", "html")
        and not _touches(node, inside)
        and len(node.text().strip()) >= _FEW
        and not node.css_first("nav, form, script")
        and not _is_furniture(node)
        and sum(len(link.text()) for link in node.css("a")) * 2 < len(node.text())
    ]
    # A post mostly looks as its comments do.
    css = body_in(comments.nodes) if comments is not None else None
    alike = {node.mem_id for node in document.root.css(css)} if css else set()
    best = max(apart, key=lambda node: (node.mem_id in alike, len(node.text())), default=None)
    if best is None:
        return None
    around = best
    while around.parent is not None and around.parent.tag not in ("body", "html", "main"):
        if _touches(around.parent, inside) or around.css_first("h1") is not None:
            break
        around = around.parent
    return around


def _is_furniture(node: LexborNode) -> bool:
    above: LexborNode | None = node
    while above is not None:
        if above.tag in ("nav", "footer", "aside") or (
            above.tag == "header" and above.parent is not None and above.parent.tag not in ("article", "section", "li")
        ):
            return True
        above = above.parent
    return False


def _touches(node: LexborNode, inside: set[int]) -> bool:
    """Say whether an element is in one of those, or around one."""
    above: LexborNode | None = node
    while above is not None:
        if above.mem_id in inside:
            return True
        above = above.parent
    return any(one.mem_id in inside for one in node.css("*"))


def body_in(records: list[LexborNode]) -> str | None:
    """Return the selector of the bodies: the smallest elements that hold nearly all of a record's own words."""
    mine = {record.mem_id for record in records}
    return selector_in(records, [_body(record, mine - {record.mem_id}) for record in records])


def _body(record: LexborNode, others: set[int]) -> LexborNode | None:
    foreign = {one.mem_id for node in record.css("*") if node.mem_id in others for one in node.css("*")} | others
    author = _author(record)
    # What stands around an author or a moment is more than a body.
    apart = {node.mem_id for node in (*times_in(record), *([author] if author else []))}
    own = [
        node
        for node in record.css(_BODIES)
        if node.mem_id != record.mem_id
        and node.mem_id not in foreign
        and not any(one.mem_id in apart for one in node.css("*"))
        and not any(one.mem_id in others for one in node.css("*"))
    ]
    most = max((len(node.text()) for node in own), default=0)
    near = [node for node in own if len(node.text()) >= 0.9 * most]
    return min(near, key=lambda node: len(node.html or ""), default=None)


def author_in(records: list[LexborNode]) -> str | None:
    """Return the selector of the authors."""
    return selector_in(records, [_author(record) for record in records])


def _author(record: LexborNode) -> LexborNode | None:
    for css in _AUTHORS.split(", "):
        for node in record.css(css):
            is_person = node.tag != "a" or "href" not in css or PEOPLE.search(node.attributes.get("href") or "")
            if is_person and 0 < len(node.text().strip()) <= 60 and node.mem_id != record.mem_id:
                return node
    return None
