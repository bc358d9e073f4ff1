"""Thread rules: proposed rules for the thread pages of an unknown program, from one such page."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from crawl_tasks.discovery.boilerplate import GUESSED, buttons_in, edited_in
from crawl_tasks.discovery.json_ld_rules import linked_rules, posting_in
from crawl_tasks.discovery.links import PageLink, identity_of, paged_template, template_of
from crawl_tasks.discovery.next_page import GUESS, Step, next_of
from crawl_tasks.discovery.repeated_records import moment_rule, selector_in, selector_of
from crawl_tasks.discovery.thread_page import ThreadRecords, author_in, body_in, find_comments, find_post
from crawl_tasks.discovery.yaml_rules import CHECK, fields_text, indented, scalar
from crawl_tasks.parse.document import Document

_HEADINGS = ("h1", "h2", "h3", "[class*=title]", "[class*=subject]")
# Parts of a body that are not its author's, or not of the post.
_FOREIGN = (
    "blockquote, [class*=quote], [class*=signature], [class*=sig-], [class*=edited], [class*=postedit],"
    " [class*=updated], [class*=actions], [class*=-options], [class*=codehead]"
)
_PARENTS = ("data-parent", "data-parent-id", "data-parentid", "data-parent-pid")


def thread_rules(
    thread: tuple[PageLink, Document] | None, example: PageLink, of_lists: Step | None, elsewhere: str = ""
) -> list[str]:
    """Propose `post` and `comment`, or only the address of posts without a thread. `elsewhere` is another page's text.

    A thread of one page does not show its pager. Then the pager of lists is assumed.
    """
    link = thread[0] if thread else example
    lines = ["post:", _address(link)]
    if thread is None:
        return [*lines, f"  fields: {{title: h1, body: article}}{CHECK}: no thread could be read"]
    document = thread[1]
    comments = find_comments(document)
    around = find_post(document, comments, elsewhere)
    following = next_of(document, link.key)
    known = (of_lists.next if of_lists else "") or GUESS
    posting = posting_in(document) if not _is_told(comments) else None
    if posting is not None:
        return linked_rules(posting, lines[1], following.next if following and following.next else known)
    edited = edited_in(comments.nodes) if comments is not None else None
    lines += _post(thread, around, comments, edited)
    if comments is None:
        return [*lines, "# No comments were found: add `comment`, if there are any."]
    # If the first record is the post itself, the comments are the records behind.
    if around is None:
        first = f"{comments.css} ~ {comments.css}"
        lines += ["  comments:", *_records(comments, first, 4), *fields_text(_reply(comments, edited), 4, "reply")]
    paged = None
    if following and not link.has_slug:
        paged = paged_template(document.page.url, following.url, link.key, "post")
    more = following.line(has_template=bool(paged)) if following else f"{known}{CHECK}: this thread had a single page"
    address = [f"  address: {scalar(paged)}{CHECK}"] if paged else []
    lines += [f"  {more}", "comment:", *address, "  first_page: 2", *_records(comments, comments.css, 2)]
    lines += ["  fields: *reply"] if around is None else fields_text(_reply(comments, edited), 2)
    return lines if more.startswith("pages") else [*lines, f"  {more}"]


def _is_told(comments: ThreadRecords | None) -> bool:
    """Return whether the markup shows author, body and moment."""
    return comments is not None and {"author", "body", "created_at"} <= _fields(comments.nodes).keys()


def _address(link: PageLink) -> str:
    """Return the template of posts, or a rule for the id in an address with words of the title."""
    if link.has_slug:
        return f"  identity: {scalar(identity_of(link.shape, 'post', link.place))}{CHECK}"
    return f"  address: {scalar(template_of(link.url, link.key, 'post'))}"


def _post(
    thread: tuple[PageLink, Document], around: LexborNode | None, comments: ThreadRecords | None, edited: str | None
) -> list[str]:
    link, document = thread
    title = _title(document, link.text)
    fields = {"title": scalar(title)} if title else {}
    if around is None:
        # The first record is the post: its fields stand first on the page.
        within = f"{comments.css} " if comments is not None and not comments.siblings else ""
        fields |= _fields(comments.nodes if comments is not None else [], within, edited=edited)
        if within:
            # Not every post was edited: the first note on the page may be another post's.
            css = within.strip()
            fields["edited_at"] = scalar(f"{css}:not({css} ~ {css}) {edited or f':is({GUESSED})'}")
        return fields_text(fields, 2)
    record = selector_of(document.root, [around])
    like = body_in(comments.nodes) if comments is not None else None
    if record and title and around.css_first(title) is not None:
        fields |= _fields([around], like=like, edited=edited) | {"edited_at": scalar(edited or GUESSED)}
        return [f"  record: {scalar(record)}{CHECK}", *fields_text(fields, 2)]
    return fields_text(fields | _fields([around], f"{record} " if record else "", like, edited=edited), 2)


def _title(document: Document, text: str) -> str | None:
    """Return the selector of the heading with the text of the thread's link, else of any heading."""
    said = " ".join(text.split())
    for css in _HEADINGS:
        for node in document.root.css(css):
            if said in " ".join(node.text().split()):
                # The heading may also hold `(page 1 of 5)` or `[closed]`, outside of the link within.
                inner = [one for one in (node, *node.css("*")) if " ".join(one.text().split()) == said]
                target = inner[-1] if inner else node
                own = (css, f"{css} {target.tag}")
                plain = (
                    one for one in own if (first := document.root.css_first(one)) and first.mem_id == target.mem_id
                )
                return next(plain, None) or selector_in([document.root], [target]) or css
    return next((css for css in _HEADINGS[:3] if document.root.css_first(css) is not None), None)


def _records(comments: ThreadRecords, css: str, by: int) -> list[str]:
    lines = [f"record: {scalar(css)}{CHECK}", *(["siblings: true"] if comments.siblings else [])]
    lines += ["nesting: nested"] if comments.is_nested else []
    if not comments.key:
        there = _fields(comments.nodes)
        lines.append(f"id_of: [{', '.join(name for name in ('author', 'created_at', 'body') if name in there)}]")
    return indented(lines, by)


def _reply(comments: ThreadRecords, edited: str | None) -> dict[str, str]:
    names = {name for node in comments.nodes for name in node.attributes}
    parents = [{"parent_id": f"{{attr: {name}}}"} for name in _PARENTS if name in names]
    key = {"comment_id": comments.key} if comments.key else {}
    fields = _fields(comments.nodes, edited=edited) | {"edited_at": scalar(edited or GUESSED)}
    return {**key, **(parents[0] if parents else {}), **fields}


def _fields(
    records: list[LexborNode], within: str = "", like: str | None = None, *, edited: str | None = None
) -> dict[str, str]:
    """Propose author, time and body of records. `within` stands before each selector.

    `like` finds the bodies of similar records: in one short post alone, the body may not stand out. `edited` finds edit
    notes, which are not the author's words.
    """
    author = author_in(records)
    body = like if like and any(record.css_first(like) for record in records) else body_in(records)
    fields = {"author": scalar(within + author)} if author else {}
    if body:
        css = scalar(within + body)
        buttons = buttons_in([record.css_first(body) for record in records])
        foreign = scalar(", ".join((_FOREIGN, *buttons, *([edited] if edited else []))))
        whole = f"{{css: {css}, drop: {scalar(', '.join(buttons))}}}" if buttons else css
        fields |= {"body": f"{{css: {css}, drop: {foreign}}}", "body_html": whole}
    moment = moment_rule(records, within)
    return {**fields, **({"created_at": moment} if moment else {})}
