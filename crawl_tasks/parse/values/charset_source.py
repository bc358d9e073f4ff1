"""Charset source: the charsets that are named for a page, by the site file, the HTTP header and the meta element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, resolve_encoding

from crawl_tasks.model import Fetched
from crawl_tasks.parse.values.charset_detector import outside

# The encodings of the web (WHATWG), by Python's names. A header must not choose the stranger ones that Python knows.
_ENCODINGS = (
    "utf-8 utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be ascii gb18030 gbk gb2312 hz big5 big5hkscs euc_jp "
    "iso2022_jp shift_jis cp932 euc_kr cp949 koi8-r koi8-u mac-roman mac-cyrillic cp866 cp874"
)
_OF_THE_WEB = frozenset(_ENCODINGS.split())
# Labels of the web that Python does not know, without their `x-`.
_LABELS = {"windows-874": "cp874", "dos-874": "cp874", "windows-949": "cp949", "windows-936": "gbk", "utf8mb4": "utf-8"}
_LABEL = re.compile(r"charset\s*=[\s\"']*([\w.:-]+)", re.IGNORECASE)
_HEAD_END = re.compile(rb"</head|<body", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--")
_COMMENT_END = re.compile(rb"^-?>|--!?>")
_LONGEST_BLANK = 1_024
_LONGEST_HEAD = 262_144
_META = re.compile(rb"<(?:meta\b(?=[^<>]*charset)|\?xml\s)[^<>]*>", re.IGNORECASE)


def claims_of(page: Fetched, declared: str | None) -> Iterator[str]:
    """Yield each charset that is named for a page: by the site file, the header, and the meta element."""
    if (word := _known(declared)) is not None:
        yield word
    if (header := _of_header(page.headers.get("content-type"))) not in (None, word):
        yield header or ""
    if (meta := _meta(page)) not in (None, word, header):
        yield meta or ""


@lru_cache(maxsize=256)
def _of_header(content_type: str | None) -> str | None:
    """Return the charset of a Content-Type. Cached: a forum sends one value, and reading one takes 10 us."""
    named = http_content_type_encoding(content_type)
    label = _LABEL.search(content_type or "")
    return _known(named) or _known(label[1] if label else None)


def _meta(page: Fetched) -> str | None:
    """Return the charset of the meta element or the XML declaration, wherever in the head it stands.

    Browsers look in the first 1,024 bytes, and begin anew where they meet one further down.
    """
    body = page.body
    if body[:_LONGEST_BLANK].lstrip()[:1] in (b"{", b"["):
        return None
    end = _HEAD_END.search(body, 0, _LONGEST_HEAD)
    head = body[: end.start() if end else _LONGEST_HEAD]
    for tag in _META.findall(outside(head, _COMMENT, _COMMENT_END)):
        text = tag.decode("latin-1")
        label = _LABEL.search(text)
        charset = _known(html_body_declared_encoding(tag)) or _known(label[1] if label else None)
        if charset is not None:
            # A page whose meta element can be read is none of UTF-16 (WHATWG, "change the encoding").
            return "utf-8" if charset.startswith("utf-") else charset
    return None


@lru_cache(maxsize=256)
def _known(label: str | None) -> str | None:
    """Return the charset of a label as browsers read it, None for one that is none of the web's."""
    if label is None:
        return None
    name = label.strip().lower()
    name = name.removeprefix("x-") if not name.startswith("x-mac") else name[2:]
    charset = resolve_encoding(_LABELS.get(name, name))
    if charset is None or charset in _OF_THE_WEB or charset.startswith(("cp125", "iso8859-")):
        return charset
    return None
