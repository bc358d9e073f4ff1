"""Before a batch is merged: text no database takes becomes text every database takes.

PostgreSQL refuses NUL, no encoder takes half a surrogate pair, no column holds a number of more than
64 bits and no index a key of a kilobyte. The item is kept; what cannot be stored is replaced.
"""

from __future__ import annotations

from hashlib import blake2b
from math import isfinite
from typing import Final

from crawl_tasks.model import Comment, Forum, Items, Post
from crawl_tasks.store.tables import ID_LENGTH

REPLACEMENT: Final = "\ufffd"
_LARGEST: Final = 2**63 - 1
_HASH_LENGTH: Final = 32


def is_suspect(items: Items) -> bool:
    """Say whether a page needs clean() at once: for the faults that SQLite would store in silence.

    Whatever else clean() mends makes a driver raise, which is soon enough.
    """
    for post_id, comment_id, seen_at, parent_id, author, _, body, html, _, _, _, _, state, extra in items.comments:
        if (
            "\0" in f"{post_id}{comment_id}{parent_id}{author}{body}{html}{state}{extra}"
            or len(comment_id) > ID_LENGTH
            or len(post_id) > ID_LENGTH
            or (parent_id is not None and len(parent_id) > ID_LENGTH)
            or extra
            or not isfinite(seen_at)
        ):
            return True
    return any(map(_post_is_suspect, items.posts)) or any(
        len(forum.forum_id) > ID_LENGTH or "\0" in f"{forum}" for forum in items.forums
    )


def clean(items: Items) -> Items:
    """Return the page with everything in it storable."""
    return Items(
        _whole(items.site),
        tuple(Forum(_id(it.forum_id), _text(it.title), _text(it.url)) for it in items.forums),
        tuple(_post(it) for it in items.posts),
        tuple(_comment(it) for it in items.comments),
    )


def _post_is_suspect(post: Post) -> bool:
    texts = (post.post_id, post.forum_id, post.url, post.title, post.author, post.body, post.body_html)
    return (
        len(post.post_id) > ID_LENGTH
        or len(post.forum_id or "") > ID_LENGTH
        or bool(post.extra)
        or not isfinite(post.seen_at)
        or any("\0" in text for text in (*texts, post.state, post.revision) if text)
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
    )


def _time(value: float) -> float:
    return float(value) if isfinite(value) else 0.0


def _number(value: int | None) -> int | None:
    return value if value is None or -_LARGEST <= value <= _LARGEST else None


def _text(text: str | None) -> str | None:
    return None if text is None else _whole(text)


def _whole(text: str) -> str:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins the halves of a pair
    return whole.replace("\0", REPLACEMENT)


def _id(text: str) -> str:
    cleaned = _whole(text)
    if len(cleaned) <= ID_LENGTH:
        return cleaned
    hashed = blake2b(cleaned.encode(), digest_size=_HASH_LENGTH // 2).hexdigest()
    return f"{cleaned[: ID_LENGTH - _HASH_LENGTH - 1]}~{hashed}"


def _extra(extra: dict[str, str] | None) -> dict[str, str] | None:
    return None if extra is None else {_whole(str(name)): _whole(str(value)) for name, value in extra.items()}
