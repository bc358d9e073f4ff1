"""Items that a site's own function made: each field of the type that the tables hold, and named where it is not."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Final, TypeVar

from crawl_tasks.model.items import Comment, Forum, Post
from crawl_tasks.model.surrogates import whole_text

Given = TypeVar("Given", bound=Forum | Post | Comment)
STATES: Final = frozenset({"normal", "deleted", "masked"})


def checked_item(item: Given) -> Given:
    """Return an item with whole texts and whole numbers.

    Raises:
        TypeError: a field is of another type. The message names field, item and what to give.
    """
    try:
        return type(item)._make(  # type: ignore[return-value]  # of the item's own type
            _CHECKS[name](value) for name, value in zip(item._fields, item, strict=True)
        )
    except (TypeError, ValueError):
        for name, value in zip(item._fields, item, strict=True):
            if remedy := _remedy(_CHECKS[name], value):
                raise TypeError(
                    f"{name} of {type(item).__name__} {str(item[item._fields.index(_id_of(item))])[:40]} is"
                    f" {_kind(value)}: give {remedy}"
                ) from None
        raise


def _id_of(item: Forum | Post | Comment) -> str:
    if isinstance(item, Forum):
        return "forum_id"
    return "post_id" if isinstance(item, Post) else "comment_id"


def _remedy(check: Callable[[object], object], value: object) -> str:
    try:
        check(value)
    except (TypeError, ValueError) as error:
        return str(error)
    return ""


def _kind(value: object) -> str:
    if isinstance(value, datetime):
        return "a datetime without a time zone"
    if isinstance(value, str | int | float):
        return repr(value)[:60]
    return f"of type {type(value).__name__}"


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value if value is None else whole_text(value)
    raise TypeError("a text (str), or None")


def _id(value: object) -> str:
    if value and (key := _key(value)):
        return key
    raise TypeError("the forum's own id as a text (str)")


def _key(value: object) -> str | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(value)


def _time(value: object) -> int | None:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return math.floor(value.timestamp())
    try:
        return _number(value)
    except TypeError:
        raise TypeError("seconds since 1970 (int), a datetime with a time zone, or None") from None


def _number(value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return math.floor(value)
    raise TypeError("a whole number (int), or None")


def _state(value: object) -> str | None:
    if value is None or (isinstance(value, str) and value in STATES):
        return value
    raise TypeError("normal, deleted, masked or None")


def _extra(value: object) -> object:
    if value is None or isinstance(value, dict):
        return value and _json(value)
    raise TypeError("a dict of texts, or None")


def _json(value: object) -> object:
    if isinstance(value, str):
        return whole_text(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_json(part) for part in value]
    if isinstance(value, dict) and all(isinstance(name, str) for name in value):
        return {whole_text(name): _json(part) for name, part in value.items()}
    raise TypeError("texts, numbers, lists and dicts alone as its values")


def _as_it_is(value: object) -> object:
    return value


_CHECKS: Final[dict[str, Callable[[object], object]]] = {
    # The crawler fills these in itself.
    **dict.fromkeys(("seen_at", "is_page"), _as_it_is),
    **dict.fromkeys(("post_id", "comment_id"), _id),
    **dict.fromkeys(("forum_id", "parent_id", "author_id"), _key),
    **dict.fromkeys(("url", "title", "author", "body", "body_html", "revision"), _text),
    **dict.fromkeys(("created_at", "edited_at", "last_reply_at"), _time),
    **dict.fromkeys(("reply_count", "view_count", "depth", "page", "position"), _number),
    "state": _state,
    "extra": _extra,
}
