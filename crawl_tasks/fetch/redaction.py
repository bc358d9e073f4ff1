"""The secrets of a session: which of its texts are secrets, and a page or a text without them."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from crawl_tasks.fetch.cookie_jar import StoredCookie
from crawl_tasks.model import Comment, Fetched, Items, Post
from crawl_tasks.model.request import NO_SECRETS

LEAST_SECRET: Final = 12
"""The least length of a token or a cookie that is hidden. Shorter ones could be words of a post."""
LEAST_PASSWORD: Final = 8
HIDDEN: Final = "***"

_TEXTS = ("title", "author", "author_id", "body", "body_html")
_CHARSETS = ("utf-8", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "cp1251", "cp1252")
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
    kinds = [(sign.isdigit(), sign.isupper()) for sign in longest]
    changes = sum(kind != before for kind, before in zip(kinds[1:], kinds, strict=False))
    # Of random letters and digits about every second one is of another kind than the one before, of words hardly any.
    return len(longest) >= _LEAST_RANDOM and changes * 5 >= len(longest)


@lru_cache(maxsize=64)
def spellings(secret: str) -> tuple[str, ...]:
    """Return a secret as it is, and as HTML, JSON and addresses write it, the longest first."""
    marked = html.escape(secret, quote=False)
    texts = {
        secret,
        unquote(secret),
        marked,
        html.escape(secret),
        html.escape(secret).replace("&#x27;", "&#39;").replace("&quot;", "&#34;"),
        marked.encode("ascii", "xmlcharrefreplace").decode(),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(secret)[1:-1].replace("/", "\\/"),
        quote(secret, safe=""),
        quote_plus(secret),
    }
    return tuple(sorted((text for text in texts if len(text) >= LEAST_PASSWORD), key=len, reverse=True))


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
        for written in {secret.encode(charset) for charset in _charsets_of(secret)}:
            body = body.replace(written, HIDDEN.encode())
    headers = {name: without(value, page.secrets) for name, value in page.headers.items() if name != "set-cookie"}
    return page._replace(url=without(page.url, page.secrets), headers=headers, body=body, secrets=NO_SECRETS)


def _charsets_of(secret: str) -> tuple[str, ...]:
    """Return the charsets in which a page may write a secret: any that can, as one that cannot writes another text."""
    if secret.isascii():
        return ("utf-8",)
    return tuple(charset for charset in _CHARSETS if secret.encode(charset, "replace").decode(charset) == secret)


def items_without(items: Items, page: Fetched) -> tuple[Items, Counter[str]]:
    """Return items whose texts have none of a page's secrets, and of each secret in how many texts it was.

    Addresses stay as they are: a walk follows them.
    """
    changed = Counter[str]()
    if not page.secrets:
        return items, changed

    def clean(text: str | None) -> str | None:
        if not text:
            return text
        names = {name for secret, name in page.secrets.items() if secret in text}
        changed.update(names)
        return without(text, page.secrets) if names else text

    def cleaned(item: Post | Comment) -> dict[str, object]:
        texts = {name: clean(text) for name in _TEXTS if (text := getattr(item, name, None))}
        return texts | {"extra": {name: clean(text) for name, text in item.extra.items()} if item.extra else item.extra}

    posts = tuple(post._replace(**cleaned(post)) for post in items.posts)  # type: ignore[arg-type]  # fields of texts
    comments = tuple(reply._replace(**cleaned(reply)) for reply in items.comments)  # type: ignore[arg-type]
    return items._replace(posts=posts, comments=comments), changed


def hidden_note(name: str, texts: int) -> str:
    """Return the remark that a secret was replaced in some texts."""
    note = f"*** is in the place of the {name} of the session in {texts} texts"
    return f"{note}; if it is no secret, name it in login.not_secret" if name.startswith("cookie ") else note
