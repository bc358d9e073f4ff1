"""Lone surrogates, halves of an emoji that a program has cut in two, into U+FFFD; pairs of them into the character.

No encoder takes them: one in a title, an id or an address would cost the whole page, at its commit.
"""

from __future__ import annotations

import re

from crawl_tasks.model import Comment, Parsed, Post

REPLACEMENT = "\ufffd"
# An escape is consumed whole, so that the `u` behind an escaped backslash begins none.
_ESCAPE = re.compile(r"\\(?:u(?:d[89ab][0-9a-f]{2}(\\ud[c-f][0-9a-f]{2})?|d[c-f][0-9a-f]{2})|.)", re.I | re.DOTALL)
# U+D800 to U+DFFF, which is 55296 to 57343.
_REFERENCE = re.compile(
    rb"&#(?:x0*d[89a-f][0-9a-f]{2}|0*5(?:529[6-9]|5[3-9]\d\d|6\d{3}|7[0-2]\d\d|73[0-3]\d|734[0-3]));", re.IGNORECASE
)


def whole_text(text: str) -> str:
    """Return a text that every encoder takes; the same object where it is one."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_json(source: str) -> str:
    r"""Return JSON whose escapes are whole characters, as `"party \ud83c"` is not; orjson refuses such a document."""
    return _ESCAPE.sub(_whole_escape, source)


def whole_xml(source: bytes) -> bytes:
    """Return XML without references to half a character, which lxml reads and cannot give."""
    return _REFERENCE.sub(REPLACEMENT.encode(), source) if b"&#" in source else source


def whole_parsed(parsed: Parsed) -> Parsed:
    """Return what a site's function made of a page with all its texts whole."""
    return Parsed._make(map(_whole, parsed))


def whole_item(item: Post | Comment) -> Post | Comment:
    """Return what a site's function made of an item with all its texts whole."""
    row = map(_whole, item)
    return Post._make(row) if isinstance(item, Post) else Comment._make(row)


def _whole_escape(found: re.Match[str]) -> str:
    escape = found[0]
    return r"\ufffd" if len(escape) == 6 and found[1] is None else escape


def _whole(value: object) -> object:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, tuple):
        parts = [_whole(one) for one in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        # What is made of named fields is made again of them.
        make = getattr(type(value), "_make", tuple)
        return make(parts)
    if isinstance(value, list):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(one) for name, one in value.items()}
    return value
