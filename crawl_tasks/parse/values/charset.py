"""Charset detection as in browsers: BOM, HTTP header, meta element; a claim that its page refutes gives way.

A guess (charset_detector.py) comes last, where browsers show replacement characters.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from w3lib.encoding import read_bom

from crawl_tasks.model import Fetched, Items
from crawl_tasks.parse.values.charset_detector import ASCII, WESTERN, CharsetDetector
from crawl_tasks.parse.values.charset_letters import EAST_ASIAN
from crawl_tasks.parse.values.charset_source import claims_of

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
_WITH_NUL = ("utf-16", "utf-16-le", "utf-16-be", "utf-32")
_REMEDY = "set `encoding` in the site file"
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
    claims = claims_of(page, declared)
    first = next(claims, "utf-8")
    if first == "utf-8" and not body.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        read = _as_claimed_utf8(page, declared, detector)
        if read is not None:
            return read
    bom, mark = read_bom(body)
    if bom is not None:
        return _replaced(body[len(mark or b"") :], bom)
    if (wide := _unmarked_utf16(body)) is not None:
        return _replaced(body, wide)
    return _weighed(body, [first, *claims], has_word=declared is not None, detector=detector or CharsetDetector())


def _has_lost(texts: tuple[str | None, ...]) -> bool:
    return any("\ufffd" in text for text in texts if text)


def _as_claimed_utf8(page: Fetched, declared: str | None, detector: CharsetDetector | None) -> PageText | None:
    """Return the text of valid UTF-8, None for other bytes and for UTF-16 without a mark."""
    try:
        text = page.body.decode()
    except UnicodeDecodeError:
        return None
    if not text.isascii():
        if detector is not None and not detector.has_utf8:
            detector.has_utf8 = next(claims_of(page, declared), "") == "utf-8"
        return PageText(text, "utf-8", is_utf8=True)
    if "\0" in text[:_UTF16_SAMPLE]:
        return None
    escaped = _escaped(page, declared) if _ESCAPE in text else None
    return escaped or PageText(text, "utf-8", is_utf8=True)


def _escaped(page: Fetched, declared: str | None) -> PageText | None:
    """Return the text of ISO-2022-JP, None for another one: where pages name a charset, posts may have its sign."""
    claims = list(claims_of(page, declared))
    if claims and (declared is not None or "iso2022_jp" not in claims):
        return None
    result = _replaced(page.body, "iso2022_jp")
    note = "" if claims else f"no charset is named: read as iso2022_jp: {_REMEDY}"
    return None if result.lost else result._replace(note=note)


def charset_of(page: Fetched, declared: str | None = None) -> str:
    """Return the charset in which a page is read. `declared` is the charset in the site file."""
    return decoded(page, declared).charset


def is_named(page: Fetched) -> bool:
    """Return whether a page names a charset by more than habit: one that is not Western Europe's."""
    return any(charset not in WESTERN for charset in claims_of(page, None))


def lost_texts(items: Items, read: PageText) -> str:
    """Return a note on the texts of a page with characters that could not be read, empty where there are none."""
    if not read.lost:
        return ""
    texts = [(item.title, item.author, item.body) for item in items.posts]
    texts += [(None, item.author, item.body) for item in items.comments]
    lost = sum(map(_has_lost, texts))
    if not lost:
        return ""
    return f"{lost} of {len(texts)} texts {LOST}, as they are not in {read.charset}: {_REMEDY}"


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
    if "iso8859-7" in claims[has_word:] and _is_windows_greek(body):
        claims = [*claims[:has_word], *("cp1253" if name == "iso8859-7" else name for name in claims[has_word:])]
    choice = _CharsetChoice(body, body.translate(None, ASCII), detector)
    for place, charset in enumerate(claims):
        is_word = has_word and place == 0
        result = choice.by_claim(charset, is_word=is_word)
        if result is not None:
            return result if is_word else choice.by_rival(result, claims[place + 1 :])
    return choice.by_guess(claims)


class _CharsetChoice(NamedTuple):
    """A page whose charset is looked for: its bytes, those beyond ASCII, and the detector of its site."""

    body: bytes
    wide: bytes
    detector: CharsetDetector

    def by_claim(self, charset: str, *, is_word: bool) -> PageText | None:
        """Return the text by a charset that is named, None where the bytes refute it."""
        if charset in _WITH_NUL or (charset in WESTERN and not is_word and _is_elsewhere(self.body, self.wide)):
            return None
        result = _replaced(self.body, charset)
        is_ours = charset == "utf-8" and self.detector.has_utf8 and result.lost <= _FEW
        if not (is_ours or _is_damage(result, len(self.wide))):
            return None
        if is_word and charset in EAST_ASIAN:
            self.detector.read_well(charset)
        return result

    def by_rival(self, result: PageText, beside: list[str]) -> PageText:
        """Return the text by the charset in which it reads plainly better, else the result."""
        rival = self.detector.rival(self.body, self.wide, result.charset, beside)
        if rival is None:
            return result
        better = _replaced(self.body, rival[0])
        return better._replace(note=f"{rival[1]}: {_REMEDY}") if _is_damage(better, len(self.wide)) else result

    def by_guess(self, claims: list[str]) -> PageText:
        """Return the text by the guess of the detector, or by the first claim if that loses fewer characters."""
        charset, reason = self.detector.detect(self.body)
        result = _replaced(self.body, charset)
        noted = result._replace(note=f"{reason}: {_REMEDY}")
        if charset == self.detector.usual_of_east_asia():
            return result if charset in claims else noted
        if _is_damage(result, len(self.wide)):
            return noted
        return min(_replaced(self.body, claims[0]), noted, key=lambda text: text.lost)


def _as_utf8(body: bytes, sure: int, *, is_claimed: bool) -> str | None:
    """Return the text of bytes that are UTF-8 beyond chance, whatever the claims say."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    # Each character beyond ASCII has two bytes at least.
    is_beyond_chance = (
        is_claimed or (text.isascii() and _ESCAPE not in text) or sum(sign > "\x7f" for sign in text) >= sure
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
    good = sum(sign > "\x7f" for sign in result.text) - result.lost
    return result.lost * 4 <= good if result.charset == "utf-8" else result.lost * 8 <= min(good, wide)


def _is_elsewhere(body: bytes, wide: bytes) -> bool:
    """Return whether the letters beyond ASCII are in rows, as in no language of Western Europe."""
    rows = b"".join(_IN_A_ROW.findall(body)).translate(None, ASCII)
    return 2 * len(rows) > len(wide)
