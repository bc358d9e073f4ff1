"""JSON-LD rules (schema.org): for threads whose authors, moments and texts are in JSON-LD and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator

from crawl_tasks.discovery.text.yaml_rules import CHECK, fields_text, scalar
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.json_ld import Json

_POSTINGS = ("DiscussionForumPosting", "SocialMediaPosting", "Question", "Article", "BlogPosting", "NewsArticle")
# In JMESPath a bare @ is the current node, hence the quotes.
_TITLES, _TEXTS, _IDS = ("headline", "name"), ("text", "articleBody"), ("url", '"@id"', "identifier")
_NUMBER = r"(\d+)\D*$"
Thing = dict[str, Json]


def posting_in(document: Document) -> Thing | None:
    """Return the page's JSON-LD object of a post with text and author."""
    things = [thing for thing in document.linked if isinstance(thing, dict)]
    for kind in _POSTINGS:
        for thing in things:
            if thing.get("@type") == kind and _first_of(thing, _TEXTS) and _author(thing):
                return thing
    return None


def linked_rules(posting: Thing, address: str, following: str) -> list[str]:
    """Propose `post` and `comment`. `address` and `following` are the lines about address and next page."""
    kind = f"[?\"@type\" == '{posting['@type']}']"
    comments = [comment for comment in _list(posting.get("comment")) if isinstance(comment, dict)]
    title = _first_of(posting, _TITLES)
    fields = {"title": f"{{json: {title}}}"} if title else {}
    lines = ["post:", address, "  format: json-ld", f"  record: {{json: {scalar(kind)}}}{CHECK}"]
    lines += fields_text(fields | dict(_fields(posting)), 2)
    if not comments:
        return [*lines, "# No comments were found: add `comment`, if there are any."]
    where = next((name for name in _IDS if _number_of(comments[0], name)), None)
    reply: dict[str, str] = {}
    if where is not None:
        reply["comment_id"] = f"{{json: {scalar(where)}, regex: {scalar(_NUMBER)}}}"
        reply["parent_id"] = f"{{json: {scalar(f'parentItem.{where}')}, regex: {scalar(_NUMBER)}}}"
    reply |= dict(_fields(comments[0]))
    made = (
        [] if where else [f"  id_of: [{', '.join(name for name in ('author', 'created_at', 'body') if name in reply)}]"]
    )
    records = [f"record: {{json: {scalar(kind + '.comment[]')}}}{CHECK}", *made]
    lines += [f"  {following}", "comment:", "  format: json-ld", "  first_page: 2", f"  {records[0]}", *made]
    return [*lines, *fields_text(reply, 2), f"  {following}"]


def _fields(thing: Thing) -> Iterator[tuple[str, str]]:
    if _author(thing):
        yield "author", "{json: author.name}"
    text = _first_of(thing, _TEXTS)
    if text:
        # Some programs write HTML there.
        mode = ", text: lines" if re.search(r"<(?:p|br|div|a)\b", str(thing[text])) else ""
        yield "body", f"{{json: {text}{mode}}}"
    for name, key in (("created_at", "datePublished"), ("edited_at", "dateModified")):
        if thing.get(key) or (name == "created_at" and thing.get("dateCreated")):
            yield name, f"{{json: {key if thing.get(key) else 'dateCreated'}}}"


def _author(thing: Thing) -> Json:
    author = thing.get("author")
    return author.get("name") if isinstance(author, dict) else None


def _first_of(thing: Thing, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if isinstance(thing.get(name), str) and thing[name]), None)


def _number_of(thing: Thing, name: str) -> bool:
    return re.search(_NUMBER, str(thing.get(name.strip('"')) or "")) is not None


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
