"""Charset detection as in browsers: BOM, HTTP header, meta element; a claim that its page refutes gives way.

A guess (charset_detector.py) comes last, where browsers show replacement characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, resolve_encoding

from crawl_tasks.model import Fetched, Items
from crawl_tasks.parse.values.charset_detector import ASCII, WESTERN, CharsetDetector, outside
from crawl_tasks.parse.values.charset_letters import EAST_ASIAN

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
# ISO 8859 has control characters where Windows has quotes and dashes. Pages with these are written on Windows.
_TWINS = {"iso8859-15": "cp1252", "iso8859-2": "cp1250", "iso8859-5": "cp1251", "iso8859-7": "cp1253"}
_WINDOWS_ALPHA = re.compile(
    rb"(?<![A-Za-z\xa2\xb6\xb8-\xfe])(?<![\xc8\xe8\xcd\xed\xd4\xf4]\xe1 )(?<!\xf4\xef )"
    rb"(?<![\xec\xf0\xf3]\xef\xf5 )\xa2[\xc1-\xfe]"
)
"""Alpha with tonos at the beginning of a word, in ISO 8859-7 a right quote. There it is the elision of `θα ’ναι`."""
_ISO_ALPHA = re.compile(rb"(?<![A-Za-z\xa2\xb6\xb8-\xfe])\xb6[\xc1-\xfe]")
_CONTROLS = re.compile("[\x80-\x9f]")
# Big5 and Shift_JIS have letters of ASCII as second bytes.
_IN_A_ROW = re.compile(rb"[\x80-\xff](?:[A-Za-z]?[\x80-\xff]){3,}")
_SURE = 3
"""Characters of several bytes that no text of another charset than UTF-8 has by chance, all of its bytes being such.

Of Western Europe's one is enough: `Ã©` is no part of a word there."""
LOST = "have characters that could not be read (U+FFFD)"
"""The words of the note on such texts."""
_FEW = 2
"""Lost characters that are damage on a page of a site in UTF-8, if it has no other characters beyond ASCII."""
_UTF16_SAMPLE = 256
_ESCAPE = "\x1b$"
"""The sign of ISO-2022-JP, the only charset of the web that needs no bytes beyond ASCII."""


class PageText(NamedTuple):
    """The text of a page.

    `is_utf8` is true where the bytes are that text in valid UTF-8. `lost` counts the characters that could not be
    read: U+FFFD that the page itself holds is none. `note` says what was guessed.
    """

    text: str
    charset: str
    is_utf8: bool = False
    lost: int = 0
    note: str = ""


def decode(page: Fetched, declared: str | None = None) -> tuple[str, bool]:
    """Return the page's text, and whether the bytes are that text in valid UTF-8. See `decoded`."""
    result = decoded(page, declared)
    return result.text, result.is_utf8


def decoded(page: Fetched, declared: str | None = None, detector: CharsetDetector | None = None) -> PageText:
    """Return the page's text and charset.

    Never fails: undecodable bytes become U+FFFD.

    Args:
        page: the response.
        declared: the charset in the site file, which outranks everything but a BOM.
        detector: the detector of the site, which knows its earlier pages.
    """
    body = page.body
    claims = _claims(page, declared)
    first = next(claims, "utf-8")
    if first == "utf-8" and not body.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        try:
            text = body.decode()
        except UnicodeDecodeError:
            pass
        else:
            if not text.isascii():
                if detector is not None and not detector.has_utf8:
                    detector.has_utf8 = next(_claims(page, declared), "") == "utf-8"
                return PageText(text, "utf-8", is_utf8=True)
            if "\0" not in text[:_UTF16_SAMPLE]:
                escaped = _escaped(page, declared) if _ESCAPE in text else None
                return escaped or PageText(text, "utf-8", is_utf8=True)
    bom, mark = read_bom(body)
    if bom is not None:
        return _replaced(body[len(mark or b"") :], bom)
    if (wide := _unmarked_utf16(body)) is not None:
        return _replaced(body, wide)
    return _weighed(body, [first, *claims], has_word=declared is not None, detector=detector or CharsetDetector())


def _escaped(page: Fetched, declared: str | None) -> PageText | None:
    """Return the text of ISO-2022-JP, None for another one: where pages name a charset, posts may have its sign."""
    claims = list(_claims(page, declared))
    if claims and (declared is not None or "iso2022_jp" not in claims):
        return None
    result = _replaced(page.body, "iso2022_jp")
    note = "" if claims else "no charset is named: read as iso2022_jp: set `encoding` in the site file"
    return None if result.lost else result._replace(note=note)


def charset_of(page: Fetched, declared: str | None = None) -> str:
    """Return the charset in which a page is read. `declared` is the charset in the site file."""
    return decoded(page, declared).charset


def is_named(page: Fetched) -> bool:
    """Return whether a page names a charset by more than habit: one that is not Western Europe's."""
    return any(charset not in WESTERN for charset in _claims(page, None))


def lost_texts(items: Items, read: PageText) -> str:
    """Return a note on the texts of a page with characters that could not be read, empty where there are none."""
    if not read.lost:
        return ""
    texts = [(one.title, one.author, one.body) for one in items.posts]
    texts += [(None, one.author, one.body) for one in items.comments]
    lost = sum(any("\ufffd" in text for text in row if text) for row in texts)
    if not lost:
        return ""
    return f"{lost} of {len(texts)} texts {LOST}, as they are not in {read.charset}: set `encoding` in the site file"


def _claims(page: Fetched, declared: str | None) -> Iterator[str]:
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
    found = http_content_type_encoding(content_type)
    label = _LABEL.search(content_type or "")
    return _known(found) or _known(label[1] if label else None)


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


def _unmarked_utf16(body: bytes) -> str | None:
    """Return the byte order of UTF-16 without a mark: every other byte of its markup is NUL."""
    sample = body[:_UTF16_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if (
        len(sample) < 2
        or not (even or odd)
        or 8 * max(even, odd) < 3 * len(sample)
        or min(even, odd) * 4 > max(even, odd)
    ):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _weighed(body: bytes, claims: list[str], *, has_word: bool, detector: CharsetDetector) -> PageText:
    """Return the text by the first claim that the bytes do not refute, else by the guess."""
    # Valid UTF-8 is an accident in no other charset, but a word of the site file is the operator's.
    sure = 1 if WESTERN.issuperset(claims) else _SURE
    if not has_word and (text := _as_utf8(body, sure, is_claimed="utf-8" in claims)) is not None:
        return PageText(text, "utf-8", is_utf8=True)
    wide = body.translate(None, ASCII)
    if "iso8859-7" in claims[has_word:] and _is_windows_greek(body):
        claims = [*claims[:has_word], *("cp1253" if name == "iso8859-7" else name for name in claims[has_word:])]
    for place, charset in enumerate(claims):
        if charset in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"):
            continue
        is_refuted = charset in WESTERN and not (has_word and place == 0) and _is_elsewhere(body, wide)
        result = _replaced(body, charset)
        is_ours = charset == "utf-8" and detector.has_utf8 and result.lost <= _FEW
        if is_refuted or not (is_ours or _is_damage(result, len(wide))):
            continue
        if has_word and place == 0 and charset in EAST_ASIAN:
            detector.read_well(charset)
        rival = None if has_word and place == 0 else detector.rival(body, wide, charset, claims[place + 1 :])
        better = _replaced(body, rival[0]) if rival else result
        if rival and _is_damage(better, len(wide)):
            return better._replace(note=f"{rival[1]}: set `encoding` in the site file")
        return result
    charset, reason = detector.detect(body)
    result = _replaced(body, charset)
    note = f"{reason}: set `encoding` in the site file"
    if charset == detector.usual_of_east_asia():
        return result if charset in claims else result._replace(note=note)
    if _is_damage(result, len(wide)):
        return result._replace(note=note)
    # A guess may be worse than the claim: the text with fewer characters lost wins.
    return min(_replaced(body, claims[0]), result._replace(note=note), key=lambda one: one.lost)


def _as_utf8(body: bytes, sure: int, *, is_claimed: bool) -> str | None:
    """Return the text of bytes that are UTF-8 beyond chance, whatever the claims say."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    # Each character beyond ASCII has two bytes at least.
    is_beyond_chance = (
        is_claimed or (text.isascii() and _ESCAPE not in text) or sum(one > "\x7f" for one in text) >= sure
    )
    return text if is_beyond_chance else None


def _replaced(body: bytes, charset: str) -> PageText:
    lost = 0
    try:
        text = body.decode(charset)
    except UnicodeDecodeError:
        text = body.decode(charset, "replace")
        # What the page itself holds is not lost. Only Unicode's charsets have that character.
        lost = text.count("\ufffd") - body.decode(charset, "ignore").count("\ufffd")
    twin = _TWINS.get(charset)
    return PageText(_CONTROLS.sub(lambda sign: _printed(sign[0], twin), text) if twin else text, charset, lost=lost)


def _printed(control: str, twin: str) -> str:
    return control.encode("latin-1").decode(twin, "ignore") or control


def _is_windows_greek(body: bytes) -> bool:
    """Return whether a page that names ISO 8859-7 has the capital alpha of Windows, and none of its own."""
    return bool(_WINDOWS_ALPHA.search(body)) and not _ISO_ALPHA.search(body)


def _is_damage(result: PageText, wide: int) -> bool:
    """Return whether few characters of those beyond ASCII are lost, as on pages with cut titles.

    `wide` counts the bytes beyond ASCII. Bytes of another charset are UTF-8 by rare accident, and often those of the
    other charsets with characters of several bytes.
    """
    if not result.lost:
        return True
    good = sum(one > "\x7f" for one in result.text) - result.lost
    return result.lost * 4 <= good if result.charset == "utf-8" else result.lost * 8 <= min(good, wide)


def _is_elsewhere(body: bytes, wide: bytes) -> bool:
    """Return whether the letters beyond ASCII stand in rows, as in no language of Western Europe."""
    rows = b"".join(_IN_A_ROW.findall(body)).translate(None, ASCII)
    return 2 * len(rows) > len(wide)
