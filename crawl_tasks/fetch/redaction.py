"""The secrets of a session: which of its texts are secrets, and a page or a text without them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from crawl_tasks.fetch.cookie_jar import StoredCookie
from crawl_tasks.model import Comment, Fetched, Items, Post

LEAST_SECRET: Final = 12
"""The least length of a token or a cookie that is hidden. Shorter ones could be words of a post."""
LEAST_PASSWORD: Final = 8
HIDDEN: Final = "***"

_TEXTS = ("title", "author", "body", "body_html")
_LEAST_RANDOM = 16
_RUN = re.compile(r"[A-Za-z0-9]+")
_HEX = re.compile(r"[0-9a-fA-F-]+")


def is_secret(cookie: StoredCookie) -> bool:
    """Return whether a cookie is one by which the forum knows us.

    A theme, a user's name, a language or the last page are cookies too, and words of posts.
    """
    value = unquote(cookie.value)
    runs = [value.replace("-", "")] if _HEX.fullmatch(value) else _RUN.findall(value)
    longest = max(runs, key=len, default="")
    if cookie.is_http_only and re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value):
        return True
    kinds = ["d" if sign.isdigit() else "u" if sign.isupper() else "l" for sign in longest]
    changes = sum(kind != before for kind, before in zip(kinds[1:], kinds, strict=False))
    # Of random letters and digits about every second one is of another kind than the one before, of words hardly any.
    return len(longest) >= _LEAST_RANDOM and changes * 5 >= len(longest)


def without(text: str, secrets: Iterable[str]) -> str:
    """Return a text with `***` in the place of each secret."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def redacted(page: Fetched) -> Fetched:
    """Return a page as it may be kept and shown: without the secrets of the session that it was asked for with."""
    if not page.secrets:
        return page
    body = page.body
    for secret in page.secrets:
        body = body.replace(secret.encode(), HIDDEN.encode())
    headers = {name: without(value, page.secrets) for name, value in page.headers.items() if name != "set-cookie"}
    return page._replace(url=without(page.url, page.secrets), headers=headers, body=body, secrets=())


def items_without(items: Items, page: Fetched) -> tuple[Items, int]:
    """Return items whose texts have none of a page's secrets, and the number of texts that had one.

    Addresses stay as they are: a walk follows them.
    """
    if not any(secret.encode() in page.body for secret in page.secrets):
        return items, 0
    changed = 0

    def clean(item: Post | Comment) -> dict[str, str]:
        nonlocal changed
        texts = {name: text for name in _TEXTS if (text := getattr(item, name, None))}
        new = {name: without(text, page.secrets) for name, text in texts.items()}
        new = {name: text for name, text in new.items() if text != texts[name]}
        changed += len(new)
        return new

    posts = tuple(post._replace(**clean(post)) for post in items.posts)  # type: ignore[arg-type]  # fields of texts
    comments = tuple(reply._replace(**clean(reply)) for reply in items.comments)  # type: ignore[arg-type]
    return items._replace(posts=posts, comments=comments), changed
