"""Sanitizing of items: text that no database takes becomes text that every database takes.

PostgreSQL refuses NUL, no encoder takes half a surrogate pair, no column holds a number of more than 64 bits and no
index a key of a kilobyte. The item is kept. Only the unstorable part is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from math import isfinite
from typing import Any, Final

from crawl_tasks.model import Comment, Extra, Forum, Items, Post
from crawl_tasks.store.tables import ID_LENGTH

REPLACEMENT: Final = "\ufffd"
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
            (bool(comments) and _is_odd(comments, Comment._fields))
            or (bool(posts) and _is_odd(posts, Post._fields))
            or any(len(forum.forum_id) > ID_LENGTH or "\0" in "".join(filter(None, forum)) for forum in forums)
        )
    # A site's function returned something else than the text that it promised.
    except (TypeError, AttributeError):
        return True


def _is_odd(items: Sequence[Post] | Sequence[Comment], names: tuple[str, ...]) -> bool:
    """Return whether there is a NUL, an overlong id or a time that is not a number."""
    # By column and for many pages at once, not by item: that costs a quarter.
    columns = dict(zip(names, zip(*items, strict=True), strict=True))
    texts = [name for name in names if _CLEANERS.get(name, _text) in {_text, _id}]
    return (
        any("\0" in "".join(filter(None, columns[name])) for name in texts)
        or any(
            max(map(len, filter(None, columns[name])), default=0) > ID_LENGTH for name in texts if name.endswith("_id")
        )
        or any("\0" in "".join([*extra, *filter(None, extra.values())]) for extra in columns["extra"] if extra)
        or not all(map(isfinite, columns["seen_at"]))
    )


def clean(items: Items) -> Items:
    """Return the page with every value storable."""
    return Items(
        _whole(items.site),
        tuple(Forum(_id(it.forum_id), _text(it.title), _text(it.url)) for it in items.forums),
        tuple(Post._make(_cleaned(it)) for it in items.posts),
        tuple(Comment._make(_cleaned(it)) for it in items.comments),
        tuple(it._replace(post_id=_id(it.post_id)) for it in items.swept),
        items.visits,
        tuple(it._replace(forum_id=_id(it.forum_id)) for it in items.passes),
        _whole(items.read_by),
    )


def _cleaned(item: Post | Comment) -> Iterator[object]:
    """Yield the values of an item. A missing id stays missing where the item may lack one."""
    for name, value in zip(item._fields, item, strict=True):
        is_missing = value is None and name not in _NEVER_MISSING
        yield None if is_missing else _CLEANERS.get(name, _text)(value)


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
    return {_whole(str(name)): None if value is None else _whole(_extra_text(value)) for name, value in extra.items()}


def _extra_text(value: object) -> str:
    """Return a value of `extra` as text: a list or a mapping as JSON, which other programs read."""
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


_NEVER_MISSING: Final = frozenset({"post_id", "comment_id", "seen_at", "is_page"})
"""Fields that no item may lack."""

_CLEANERS: Final[dict[str, Callable[[Any], object]]] = {
    "seen_at": _time,
    "extra": _extra,
    "is_page": bool,
    **dict.fromkeys(("post_id", "comment_id", "parent_id", "forum_id", "author_id"), _id),
    **dict.fromkeys(
        ("created_at", "reply_count", "view_count", "last_reply_at", "edited_at", "depth", "page", "position"), _number
    ),
}
"""The cleaner of each field. All other fields are texts."""
