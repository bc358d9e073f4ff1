"""Text extraction: serialised HTML of one element into plain text, or into harmless HTML (sanitizing).

The input is HTML as the parser serialises it, with quoted attributes and escaped text, which one regex can cut into
tags safely.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape, unescape
from itertools import repeat
from unicodedata import normalize

LONGEST = 1_000_000
"""Characters of the markup of a text that are read: a bound on the time that a hostile page costs."""
# The elements of nearly every text come first, because a regex tries its alternatives in order.
_BLOCKS = (
    "p br div li ul ol blockquote address article aside center dd details dialog dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hr legend main nav option section summary table tbody tfoot thead tr"
)
_BREAK_OF = dict.fromkeys([*_BLOCKS.split(), "pre"], "\n") | {"td": " ", "th": " "}
_HAS_OTHERS = re.compile(rf"<(?!/?+(?:{'|'.join(_BLOCKS.split())})[\s/>])").search
_REST_OF_TAG = r"""(?=[\s/>])[^>"]*(?:"[^"]*"[^>"]*)*>"""
# The possessive quantifiers (*+) make a tag without an end fail at once. Backtracking would try each shorter match.
_TAG = re.compile(r"""<[^>"]*+(?:"[^"]*+"[^>"]*+)*+>""")
_NAMED_TAG = re.compile(r"""</?+([a-z0-9]*+)(?:>|[^>"]*+(?:"[^"]*+"[^>"]*+)*+>)""")
_HAS_UNSEEN = re.compile(
    "<(?:!|script|style|template|noscript|iframe|object|svg|math|select|textarea|title|xmp|noembed|noframes|plaintext)"
).search
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|$)|<(script|style|template|noscript|iframe|object|svg|math|select|textarea|title|xmp|noembed|noframes|plaintext)"
    r"(?=[\s/>]).*?(?:</\1\s*>|$)",
    re.DOTALL | re.IGNORECASE,
)
_IMAGE = re.compile(rf"<img{_REST_OF_TAG}")
_ALT = re.compile(r'\balt="([^"]{1,40})"')
_PRE = re.compile(r"<pre[\s>]")
# Noncharacters, which Unicode reserves for internal marks. Private-use characters are in pages, as icons of a font.
_BREAK_KEPT, _BLANK_KEPT = "\ufdd0", "\ufdd1"
_ATTRIBUTE = re.compile(r'([a-z:-]+)="([^"]*)"')
_NAME = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)")
_KEPT = {
    "a": ("href", "title"), "img": ("src", "alt", "title", "width", "height"),
    "blockquote": ("cite",), "ol": ("start",),
    "td": ("colspan", "rowspan"), "th": ("colspan", "rowspan"),
}  # fmt: skip
_KEPT |= dict.fromkeys(
    ("b", "br", "cite", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i",
     "ins", "kbd", "li", "p", "pre", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "table", "tbody",
     "thead", "tr", "u", "ul"), (),
)  # fmt: skip
# A colon before the first /, ? or # ends a scheme. Only http, https and mailto run no code (as javascript: does).
_SAFE_ADDRESS = re.compile(r"(?:https?:)?//|mailto:|[^:]*(?:[/?#]|$)", re.IGNORECASE)
_ESCAPED = {"<": "&lt;", ">": "&gt;"}
_PIECE = re.compile(r"""<(?:/?[a-zA-Z!?][^>"]*(?:"[^"]*"[^>"]*)*>)?|>""")


class CutText(str):
    """A text whose markup is longer than what is read."""

    __slots__ = ()


def one_line(text: str) -> str:
    """Return the text in NFC, with each run of whitespace as one space."""
    return normalize("NFC", " ".join(text.split()))


def lines(html: str) -> str:
    """Return the text of serialised HTML, a line for each paragraph, line break or list item, whitespace collapsed.

    Pictures of emoji and smilies become their alt text. Preformatted text keeps its layout. Scripts, comments and other
    invisible content are left out.
    """
    markup = html[:LONGEST]
    written = _written(markup) if _HAS_OTHERS(markup) else _TAG.split(markup.replace("\n", " "))
    text = "\n".join(filter(None, map(str.strip, written)))
    if "&" in text:
        text = _unescape(text)
    # Nearly all texts have no blanks but spaces and line breaks. The quickest test for that depends on the script.
    if text.isascii():
        is_plain = "\t" not in text and "\r" not in text and "\f" not in text and "\v" not in text
    else:
        is_plain = text.replace("\n", "").isprintable()
    if not is_plain or "  " in text:
        text = "\n".join([" ".join(line.split()) for line in text.split("\n")])
        if "<pre" in html:
            text = text.replace(_BREAK_KEPT, "\n").replace(_BLANK_KEPT, " ")
    text = normalize("NFC", text)
    return text if len(html) <= LONGEST else CutText(text)


def _written(html: str) -> list[str]:
    """Return the text between line breaks and block tags, with emoji in place of their pictures."""
    # Invisible elements go first: their raw text is no serialised HTML, and the other patterns would be slow on it.
    if _HAS_UNSEEN(html):
        html = _UNSEEN.sub("", html)
    if "<img" in html:
        html = _IMAGE.sub(_picture, html)
    if "<pre" in html:
        html = "".join(_layouts_kept(html))
    # To split and join is twice as quick as sub() with a function.
    parts = _NAMED_TAG.split(html.replace("\n", " "))
    parts[1::2] = map(_BREAK_OF.get, parts[1::2], repeat(""))
    return "".join(parts).split("\n")


def _layouts_kept(html: str) -> Iterator[str]:
    """Yield the HTML with the layout of each <pre> protected, by forward search only.

    A regex would look for each missing end tag up to the last byte.
    """
    at = 0
    while (start := html.find("<pre", at)) >= 0 and (end := html.find("</pre>", start)) >= 0:
        yield html[at:start]
        at = end + len("</pre>") if _PRE.match(html, start) else start + len("<pre")
        yield _keep_layout(html[start:at])
    yield html[at:]


def clean_html(html: str) -> str:
    """Return serialised HTML with only the tags and attributes of written text, safe to show anywhere."""
    return _PIECE.sub(_allowed, _UNSEEN.sub("", html[:LONGEST])).strip()


def _allowed(match: re.Match[str]) -> str:
    tag = match[0]
    name = _NAME.match(tag)
    if name is None:
        return _ESCAPED.get(tag, "")
    word = name[2].lower()
    if word not in _KEPT:
        return ""
    if name[1]:
        return f"</{word}>"
    wanted = _KEPT[word]
    kept = "".join(
        f' {key}="{escape(unescape(value))}"'
        for key, value in (_ATTRIBUTE.findall(tag) if wanted else ())
        if key in wanted and (key not in ("href", "src", "cite") or _is_safe(unescape(value)))
    )
    return f"<{word}{kept}>"


def _is_safe(address: str) -> bool:
    # Browsers skip blanks and control characters inside a scheme, so that a tab may hide javascript:.
    bare = re.sub(r"[\x00-\x20\x7f]", "", address)
    return _SAFE_ADDRESS.match(bare) is not None


def _picture(match: re.Match[str]) -> str:
    tag = match[0]
    alt = _ALT.search(tag)
    if alt is None:
        return ""
    # An alt text describes a picture. Only that of an emoji or smiley is part of the sentence.
    is_sign = "smil" in tag or "emo" in tag or (not alt[1].isascii() and len(alt[1]) <= 4)
    return alt[1] if is_sign else ""


def _keep_layout(part: str) -> str:
    # A text that only begins like <pre has no >, and starts at 0.
    start = part.find(">") + 1
    inside = (
        part[start:]
        .replace("\n</pre>", "</pre>")
        .replace("\n", _BREAK_KEPT)
        .replace("\t", "    ")
        .replace("  ", _BLANK_KEPT * 2)
    )
    return part[:start] + inside


def _unescape(text: str) -> str:
    """Return lines without the references that a serialiser writes, and without blanks at their ends.

    Any other reference was plain text before.
    """
    if "&nbsp;" in text:
        text = "\n".join(filter(None, map(str.strip, text.replace("&nbsp;", " ").split("\n"))))
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&")


def letters(text: str) -> str:
    """Return the letters and digits of a text, in small letters."""
    return re.sub(r"\W+", "", text).casefold()
