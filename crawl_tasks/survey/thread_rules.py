"""Before step 1, survey: rules for thread pages of an unknown program, from one of them."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document
from crawl_tasks.survey.links import Link, identity_of, paged_template, template_of
from crawl_tasks.survey.pager import next_of
from crawl_tasks.survey.records import selector_in, selector_of, times_in
from crawl_tasks.survey.ruletext import CHECK, fields_text, indented, scalar
from crawl_tasks.survey.thread import Records, author_in, body_in, find_comments, find_post

_PARENTS = ("data-parent", "data-parent-id", "data-parentid", "data-parent-pid")


def thread_rules(thread: tuple[Link, Document] | None, example: Link) -> list[str]:
    """Propose `post` and `comment`; without a thread only where posts are."""
    link = thread[0] if thread else example
    lines = ["post:", _address(link)]
    if thread is None:
        return [*lines, f"  fields: {{title: h1, body: article}}{CHECK}: no thread could be read"]
    document = thread[1]
    comments = find_comments(document)
    around = find_post(document, comments)
    following = next_of(document)
    lines += _post(document, around, comments)
    if comments is None:
        return [*lines, "# No comments were found: add `comment`, if there are any."]
    # Where the first of them is the post itself, the comments are those after it.
    inside = comments.css if around is not None else f"{comments.css} ~ {comments.css}"
    if following is None:
        lines.append("  # No further pages of comments were seen; where there are, add `comment` and `next`.")
    if following is None or around is None:
        lines += ["  comments:", *_comments(comments, inside, 4)]
    if following is None:
        return lines
    paged = None if link.has_slug else paged_template(document.page.url, following[1], link.key, "post")
    lines += [f"  next: {following[0]}", "comment:", *([f"  address: {scalar(paged)}{CHECK}"] if paged else [])]
    return [*lines, "  first_page: 2", *_comments(comments, comments.css, 2), f"  next: {following[0]}"]


def _address(link: Link) -> str:
    """Write the template of posts, or how their id is read where an address has words of the title too."""
    if link.has_slug:
        return f"  identity: {scalar(identity_of(link.shape, 'post'))}{CHECK}"
    return f"  address: {scalar(template_of(link.url, link.key, 'post'))}"


def _post(document: Document, around: LexborNode | None, comments: Records | None) -> list[str]:
    record = selector_of(document.root, [around]) if around is not None else None
    shown = [around] if around is not None else comments.nodes[:1] if comments else []
    title = {"title": "h1"} if around is None or record is None or around.css_first("h1") else {}
    lines = [f"  record: {scalar(record)}{CHECK}"] if record else []
    return lines + fields_text(title | _fields(shown), 2)


def _comments(comments: Records, css: str, by: int) -> list[str]:
    pattern = re.escape(comments.prefix) + r"(\d+)"
    key = f"{{attr: {comments.attr}, regex: {scalar(pattern)}}}" if comments.prefix else f"{{attr: {comments.attr}}}"
    names = {name for node in comments.nodes for name in node.attributes}
    parents = [f"{{attr: {name}}}" for name in _PARENTS if name in names]
    fields = {"comment_id": key, **({"parent_id": parents[0]} if parents else {}), **_fields(comments.nodes)}
    nesting = ["nesting: nested"] if comments.is_nested else []
    return [*indented([f"record: {scalar(css)}{CHECK}", *nesting], by), *fields_text(fields, by)]


def _fields(records: list[LexborNode]) -> dict[str, str]:
    times = [times_in(record) for record in records]
    found = {
        "author": author_in(records),
        "created_at": selector_in(records, [one[0] if one else None for one in times]),
        "body": body_in(records),
    }
    return {name: scalar(css) for name, css in found.items() if css}
