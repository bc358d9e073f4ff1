"""Lone surrogates, halves of an emoji that a program cut in two, into U+FFFD, and pairs into the character.

No encoder accepts a lone surrogate: one in a title, an id or an address would cost the whole page at its commit.
"""

from __future__ import annotations

import re

from crawl_tasks.model.items import Parsed

REPLACEMENT = "\ufffd"
# An escape is consumed whole, so that the `u` behind an escaped backslash begins none.
_ESCAPE = re.compile(r"\\(?:u(?:d[89ab][0-9a-f]{2}(\\ud[c-f][0-9a-f]{2})?|d[c-f][0-9a-f]{2})|.)", re.I | re.DOTALL)
# U+D800 to U+DFFF, which is 55296 to 57343.
_REFERENCE = re.compile(
    rb"&#(?:x0*d[89a-f][0-9a-f]{2}|0*5(?:529[6-9]|5[3-9]\d\d|6\d{3}|7[0-2]\d\d|73[0-3]\d|734[0-3]));", re.IGNORECASE
)


def whole_text(text: str) -> str:
    """Return a text that every encoder accepts, the same object if the text was one."""
    # isascii() reads a flag of the string. Encoding would copy the text.
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # In UTF-16 a character beyond U+FFFF is a pair of surrogates, so that decoding joins the pairs.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def whole_json(source: str) -> str:
    r"""Return JSON without escapes of half a character, as in `"party \ud83c"`, which orjson refuses."""
    return _ESCAPE.sub(_whole_escape, source)


def whole_xml(source: bytes) -> bytes:
    """Return XML without references to half a character, which lxml reads but cannot return."""
    return _REFERENCE.sub(REPLACEMENT.encode(), source) if b"&#" in source else source


def whole_parsed(parsed: Parsed) -> Parsed:
    """Return the page that a site's function made, with all texts whole."""
    return Parsed._make(map(_whole, parsed))


def _whole_escape(match: re.Match[str]) -> str:
    escape = match[0]
    # Six characters are one escape. Without a second one, that is half a character.
    return r"\ufffd" if len(escape) == 6 and match[1] is None else escape


def _whole(value: object) -> object:
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, tuple):
        parts = [_whole(part) for part in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        # A named tuple takes its fields one by one, so that its own _make must build the copy.
        make = getattr(type(value), "_make", tuple)
        return make(parts)
    if isinstance(value, list):
        return [_whole(part) for part in value]
    if isinstance(value, dict):
        return {_whole(name): _whole(part) for name, part in value.items()}
    return value
