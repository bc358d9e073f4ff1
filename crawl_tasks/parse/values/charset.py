"""Charset detection as in browsers: BOM, HTTP header, meta element, and only then a guess."""

from __future__ import annotations

from functools import lru_cache

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, resolve_encoding

from crawl_tasks.model import Fetched

# Share of undecodable characters above which the claimed charset is taken for wrong.
_WORTH_DOUBT = 0.01
_SAMPLE = 65_536
# The encodings of the web (WHATWG), by Python's names. A header must not choose the stranger ones that Python knows.
_ENCODINGS = (
    "utf-8 utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be ascii gb18030 gbk gb2312 hz big5 big5hkscs euc_jp "
    "iso2022_jp shift_jis cp932 euc_kr cp949 koi8-r koi8-u mac-roman mac-cyrillic cp866 cp874"
)
_OF_THE_WEB = frozenset(_ENCODINGS.split())


def decode(page: Fetched, declared: str | None = None) -> tuple[str, bool]:
    """Return the page's text, and whether the bytes are that text in valid UTF-8.

    Never fails: undecodable bytes become U+FFFD.

    Args:
        page: the response.
        declared: the charset in the site file, which outranks everything but a BOM.
    """
    body = page.body
    bom, mark = read_bom(body)
    if bom is not None:
        return body[len(mark or b"") :].decode(bom, "replace"), False
    charset = charset_of(page, declared)
    try:
        return body.decode(charset), charset == "utf-8"
    except UnicodeDecodeError:
        return _doubted(body, charset), False


def charset_of(page: Fetched, declared: str | None = None) -> str:
    """Return the charset that a page without BOM claims. `declared` is the charset in the site file."""
    charset = _known(resolve_encoding(declared)) if declared else None
    charset = charset or _of_header(page.headers.get("content-type"))
    return charset or _known(html_body_declared_encoding(page.body)) or "utf-8"


@lru_cache(maxsize=256)
def _of_header(content_type: str | None) -> str | None:
    """Return the charset of a Content-Type. Cached: a forum sends one value, and reading one takes 10 us."""
    return _known(http_content_type_encoding(content_type))


def _known(charset: str | None) -> str | None:
    if charset is None or charset in _OF_THE_WEB or charset.startswith(("cp125", "iso8859-")):
        return charset
    return None


def _doubted(body: bytes, charset: str) -> str:
    """Return the text of bytes that contradict the claimed charset. Few bad bytes are damage, many a false claim."""
    claimed = body.decode(charset, "replace")
    # Two bad characters are damage on a short page too, where the share alone would say otherwise.
    if claimed.count("\ufffd") <= max(2, len(claimed) * _WORTH_DOUBT):
        return claimed
    # The import takes 7 ms, which only a page with a false charset costs.
    import chardet  # noqa: PLC0415

    guess = chardet.detect(body[:_SAMPLE])["encoding"]
    guessed = body.decode(_known(resolve_encoding(guess) if guess else None) or "utf-8", "replace")
    # A guess may be worse than the claim: the text with fewer replacement characters wins.
    return min((claimed, guessed), key=lambda text: text.count("\ufffd"))
