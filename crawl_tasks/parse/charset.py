"""The text of a response, decoded as browsers do: BOM, HTTP header, meta, and only then a guess."""

from __future__ import annotations

import codecs

import chardet
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, resolve_encoding

from crawl_tasks.model import Fetched

_WORTH_DOUBT = 0.01
_SAMPLE = 65_536


def decode(page: Fetched, declared: str | None = None) -> tuple[str, bool]:
    """Return the page's text, and whether its bytes are that text in clean UTF-8.

    Never fails: what cannot be decoded becomes U+FFFD.

    Args:
        page: the response.
        declared: the charset the site file gives, which wins over all but a BOM.
    """
    body = page.body
    bom, mark = read_bom(body)
    if bom is not None:
        return body[len(mark or b"") :].decode(bom, "replace"), False
    charset = resolve_encoding(declared) if declared else None
    charset = charset or http_content_type_encoding(page.headers.get("content-type"))
    charset = charset or html_body_declared_encoding(body)
    try:
        return body.decode(charset or "utf-8"), charset in (None, "utf-8")
    except (UnicodeDecodeError, LookupError):
        return _doubted(body, charset), False


def _doubted(body: bytes, charset: str | None) -> str:
    """Decode bytes that are not what they claim to be: a few bad ones are damage, many are a lie."""
    claimed = _with_marks(body, charset or "utf-8")
    if claimed.count("\ufffd") <= max(2, len(claimed) * _WORTH_DOUBT):
        return claimed
    guess = chardet.detect(body[:_SAMPLE])["encoding"]
    guessed = _with_marks(body, resolve_encoding(guess) or "utf-8") if guess else claimed
    return min((claimed, guessed), key=lambda text: text.count("\ufffd"))


def _with_marks(body: bytes, charset: str) -> str:
    try:
        codecs.lookup(charset)
    except LookupError:
        charset = "utf-8"
    return body.decode(charset, "replace")
