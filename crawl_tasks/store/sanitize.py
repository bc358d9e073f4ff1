"""Sanitizing of items: text that no database takes becomes text that every database takes.

PostgreSQL refuses NUL, no encoder takes half a surrogate pair, no column holds a number of more than 64 bits and no
index a key of a kilobyte. The item is kept. Only the unstorable part is replaced.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from itertools import chain
from math import isfinite
from typing import Final

from crawl_tasks.model import Comment, Extra, Forum, Items, Post
from crawl_tasks.store.tables import ID_LENGTH

REPLACEMENT: Final = "\ufffd"
_COMMENT_TEXTS: Final = (
    "post_id", "comment_id", "parent_id", "author", "author_id", "body", "body_html", "state",
)  # fmt: skip
_POST_TEXTS: Final = (
    "post_id",
    "forum_id",
    "url",
    "title",
    "author",
    "author_id",
    "body",
    "body_html",
    "state",
    "revision",
)
_IDS: Final = frozenset({"post_id", "comment_id", "parent_id", "forum_id", "author_id"})
_TOO_LARGE: Final = 2**63
_HASH_LENGTH: Final = 32


def storable(pages: Sequence[Items]) -> Sequence[Items]:
    """Return the pages, sanitized where a fault would be stored in silence."""
    if not _are_suspect(pages):
        return pages
    return [clean(page) if _are_suspect([page]) else page for page in pages]


def _are_suspect(pages: Sequence[Items]) -> bool:
    """Return whether SQLite would store a fault in silence. Any other fault that clean() mends makes a driver raise."""
    forums = list(chain.from_iterable(page.forums for page in pages))
    posts = list(chain.from_iterable(page.posts for page in pages))
    comments = list(chain.from_iterable(page.comments for page in pages))
    try:
        return (
            (bool(comments) and _is_odd(comments, Comment._fields, _COMMENT_TEXTS))
            or (bool(posts) and _is_odd(posts, Post._fields, _POST_TEXTS))
            or any(len(forum.forum_id) > ID_LENGTH or "\0" in "".join(filter(None, forum)) for forum in forums)
        )
    # A site's function returned something else than the text that it promised.
    except (TypeError, AttributeError):
        return True


def _is_odd(items: Sequence[Post] | Sequence[Comment], names: tuple[str, ...], texts: tuple[str, ...]) -> bool:
    """Return whether there is a NUL, an overlong id or a time that is not a number."""
    # By column and for many pages at once, not by item: that costs a quarter.
    columns = dict(zip(names, zip(*items, strict=True), strict=True))
    return (
        any("\0" in "".join(filter(None, columns[name])) for name in texts)
        or any(max(map(len, filter(None, columns[name])), default=0) > ID_LENGTH for name in texts if name in _IDS)
        or any("\0" in "".join([*extra, *filter(None, extra.values())]) for extra in columns["extra"] if extra)
        or not all(map(isfinite, columns["seen_at"]))
    )


def clean(items: Items) -> Items:
    """Return the page with every value storable."""
    return Items(
        _whole(items.site),
        tuple(Forum(_id(it.forum_id), _text(it.title), _text(it.url)) for it in items.forums),
        tuple(_post(it) for it in items.posts),
        tuple(_comment(it) for it in items.comments),
        tuple(it._replace(post_id=_id(it.post_id)) for it in items.swept),
        items.visits,
        tuple(it._replace(forum_id=_id(it.forum_id)) for it in items.passes),
        _whole(items.read_by),
    )


def _post(it: Post) -> Post:
    return Post(
        post_id=_id(it.post_id),
        seen_at=_time(it.seen_at),
        forum_id=None if it.forum_id is None else _id(it.forum_id),
        url=_text(it.url),
        title=_text(it.title),
        author=_text(it.author),
        created_at=_number(it.created_at),
        body=_text(it.body),
        body_html=_text(it.body_html),
        reply_count=_number(it.reply_count),
        view_count=_number(it.view_count),
        last_reply_at=_number(it.last_reply_at),
        edited_at=_number(it.edited_at),
        state=_text(it.state),
        revision=_text(it.revision),
        extra=_extra(it.extra),
        is_page=bool(it.is_page),
        author_id=None if it.author_id is None else _id(it.author_id),
    )


def _comment(it: Comment) -> Comment:
    return Comment(
        post_id=_id(it.post_id),
        comment_id=_id(it.comment_id),
        seen_at=_time(it.seen_at),
        parent_id=None if it.parent_id is None else _id(it.parent_id),
        author=_text(it.author),
        created_at=_number(it.created_at),
        body=_text(it.body),
        body_html=_text(it.body_html),
        depth=_number(it.depth),
        page=_number(it.page),
        position=_number(it.position),
        edited_at=_number(it.edited_at),
        state=_text(it.state),
        extra=_extra(it.extra),
        author_id=None if it.author_id is None else _id(it.author_id),
    )


# A function of a site's may give anything where a number or a dictionary was promised.


def _time(value: object) -> float:
    return float(value) if isinstance(value, int | float) and isfinite(value) else 0.0


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and -_TOO_LARGE <= value < _TOO_LARGE else None


def _text(text: str | None) -> str | None:
    return None if text is None else _whole(text)


def _whole(text: str) -> str:
    # UTF-16 joins the two halves of a surrogate pair and replaces a half that stands alone.
    whole = str(text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return whole.replace("\0", REPLACEMENT)


def _id(text: str) -> str:
    cleaned = _whole(text)
    if len(cleaned) <= ID_LENGTH:
        return cleaned
    # The hash keeps two long ids with the same beginning apart.
    hashed = blake2b(cleaned.encode(), digest_size=_HASH_LENGTH // 2).hexdigest()
    return f"{cleaned[: ID_LENGTH - _HASH_LENGTH - 1]}~{hashed}"


def _extra(extra: object) -> Extra | None:
    if not isinstance(extra, dict):
        return None
    return {_whole(str(name)): None if value is None else _whole(str(value)) for name, value in extra.items()}
