"""The guess of a charset that nobody names, from the lines of a page that have bytes beyond ASCII.

The languages are weighed by chardet's models; what those cannot know of the web is added here: words do not mix Latin
letters with Greek or Cyrillic ones, and a page's `lang` names its language. One charset serves all pages of a site:
each guess adds to those before, and a short page follows the longer ones.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence

from crawl_tasks.parse.values.charset_letters import (
    BALTIC,
    EAST_ASIAN,
    baltic_rival,
    is_likely,
    plainly_better,
    reads_well,
)
from crawl_tasks.parse.values.page_language import stated_language

# What chardet may choose from: the charsets of the web (WHATWG), by Python's names. KOI8-U is KOI8-R with
# the Ukrainian letters.
_NAMES = (
    "gb18030 big5hkscs cp949 euc-jp cp932 cp1252 iso8859-15 cp1250 iso8859-2 cp1251 koi8-u iso8859-5 cp1253 "
    "iso8859-7 cp1254 cp874 cp1255 cp1256 cp1257 cp1258"
)
_CHOICE = frozenset(_NAMES.split())
_OF_PYTHON = {"euc_jis_2004": "euc_jp"}
_OF_ONE_BYTE = _CHOICE - frozenset(("gb18030", "big5hkscs", "cp949", "euc-jp", "cp932"))
_KIND = {"koi8-r": "koi8-u"}
# Servers and old templates name these for pages of any language.
WESTERN = frozenset(("cp1252", "iso8859-15"))
# Chosen by sentences of 40 languages, from translations of programs. Those in Western Europe's charsets with so many
# letters never scored so much more in another one, but for one in 300 of Albanian, which chardet does not know.
_PLAIN, _PLAINER, _BESIDE = 1.5, 2.0, 1.2
_FEW_LETTERS, _MANY_LETTERS, _FEW_KINDS = 6, 30, 4
ASCII = bytes(range(0x80))
_USUAL = "cp1252"
"""The charset that browsers take for pages of most languages."""
_USUAL_WEIGHT = 1.1
_LANGUAGE_WEIGHT = 1.5
_RARE = frozenset(("is", "fo", "br", "cy", "ga"))
_RARE_WEIGHT = 0.9
CONTRADICTED = "where pages before were read as"
"""The words of the note on a page whose charset is another one than that of the pages before."""
_SCRIPT = re.compile(rb"<(?:script|style)\b", re.IGNORECASE)
_SCRIPT_END = re.compile(rb"</(?:script|style)\s*>", re.IGNORECASE)
_TAG = re.compile(rb"<[^<>]*>|[\r\n]+")
_WIDE = re.compile(rb"[\x80-\xff]")
_HEAD = 5_000
_SAMPLE = 4_096
_PARTS = 4
_ENOUGH = 8_192
"""Bytes of lines beyond which the charset of a site is known, and that of a page is looked at but once."""
_PAST = 40
"""The weight of all pages before, in bytes of lines of this page: about two words."""
_CLOSE = 0.5
"""Share of the best confidence below which a charset is out of the question."""
_ELSEWHERE = "[\u0370-\u03ff\u0400-\u052f\u0590-\u06ff]"
_MIXED = re.compile(f"[A-Za-z]{_ELSEWHERE}|{_ELSEWHERE}[A-Za-z]")
_LETTER = re.compile(r"(?<=[^\W\d_])[^\x00-\x7f](?=[^\W\d_])|(?![\u00b2\u00b3\u00b9\u00bc-\u00be])[^\W\d_\x00-\x7f]")
_SYMBOLS = frozenset(("So", "Sk", "Sm", "Sc", "No"))
_IN_WORDS = "’‘´·‑"


class CharsetDetector:
    """The detector for the pages of a site. Threads may share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._votes: defaultdict[str, float] = defaultdict(float)
        self._seen = 0
        self._last = ""
        self._evidence: Counter[str] = Counter()
        self._trusted: dict[str, frozenset[int]] = {}
        self._well_read: Counter[str] = Counter()
        self.has_utf8 = False
        """Whether a page of the site is in UTF-8, as it says."""

    def detect(self, body: bytes) -> tuple[str, str]:
        """Return the charset of a page, and how it was found. A short page has that of earlier pages where it can."""
        lines = _lines(body)
        before, scores = self._last, self._scores(body, lines)
        ranked = sorted(scores, key=scores.__getitem__)
        best = next((name for name in reversed(ranked) if _fits(lines, name)), _USUAL)
        sample, usual = b"\n".join(lines), self.usual_of_east_asia()
        if best in EAST_ASIAN and reads_well(sample, best):
            self.read_well(best)
        elif best in _OF_ONE_BYTE and usual and is_likely(sample, usual):
            # A broken byte refutes the charset of the site's other pages, but no charset of one byte a letter.
            best = usual
        named = f"no charset that fits is named: read as {best}"
        return best, (named if before in ("", best) else f"{named}, {CONTRADICTED} {before}")

    def rival(self, body: bytes, wide: bytes, claim: str, beside: Sequence[str]) -> tuple[str, str] | None:
        """Return the charset in which a page reads plainly better than in the one that is named, and how it was found.

        Charsets of one byte a letter read any page without loss, so that only its letters tell. None where the claim
        stands: so it does on pages whose letters were seen where it stood.

        Args:
            body: the page.
            wide: its bytes beyond ASCII.
            claim: the charset that is named first.
            beside: the charsets that are named beside, for which less evidence is enough.
        """
        if not wide:
            return None
        if claim in EAST_ASIAN:
            return self._east_asian_rival(b"\n".join(_lines(body)), claim)
        if claim in BALTIC:
            best = baltic_rival(b"\n".join(_lines(body)), claim, _language(body))
            if best is not None:
                return best, _misfit(claim, best)
        return self._one_byte_rival(body, frozenset(wide), claim, beside)

    def _one_byte_rival(
        self, body: bytes, letters: frozenset[int], claim: str, beside: Sequence[str]
    ) -> tuple[str, str] | None:
        own = _KIND.get(claim, claim)
        if own not in _OF_ONE_BYTE:
            return None
        if self._seen >= _ENOUGH and letters <= self._trusted.get(claim, frozenset()):
            return None
        lines = _lines(body)
        scores = self._scores(body, lines)
        evidence = _letters_in(lines, claim)
        if evidence.total() < _FEW_LETTERS:
            # A page of a few letters, or of quotes alone, is in the charset of the pages before.
            with self._lock:
                scores = dict(self._votes)
        weight = max(scores.get(name, 0) for name in (WESTERN if own in WESTERN else (own,)))
        rivals = {name: score for name, score in scores.items() if name in _OF_ONE_BYTE - {own}}
        named = next((name for name in beside if rivals.get(_KIND.get(name, name), 0) > _BESIDE * weight), None)
        best = max(rivals, key=rivals.__getitem__, default=own)
        fewest, margin = (_FEW_LETTERS, _PLAIN) if own in WESTERN else (_MANY_LETTERS, _PLAINER)
        with self._lock:
            self._evidence += evidence
            count, kinds = self._evidence.total(), len(self._evidence)
            is_enough = kinds >= _FEW_KINDS and count >= (_FEW_LETTERS if named else fewest)
            if named is not None and is_enough:
                return named, f"reads better as {named} of its meta element than as {claim} of its header"
            if best not in WESTERN and is_enough and rivals.get(best, 0) >= margin * weight:
                return best, _misfit(claim, best)
            self._trusted[claim] = self._trusted.get(claim, frozenset()) | letters
        return None

    def read_well(self, charset: str) -> None:
        """Remember that a page of the site is in a charset of East Asia beyond doubt."""
        with self._lock:
            self._well_read[charset] += 1

    def usual_of_east_asia(self) -> str:
        """Return the charset of East Asia in which most of the site's pages are, empty before the first one."""
        with self._lock:
            return max(self._well_read, key=self._well_read.__getitem__, default="")

    def _east_asian_rival(self, sample: bytes, claim: str) -> tuple[str, str] | None:
        best = plainly_better(sample, claim, self.usual_of_east_asia())
        if reads_well(sample, best or claim):
            self.read_well(best or claim)
        return (best, _misfit(claim, best)) if best else None

    def _scores(self, body: bytes, lines: Sequence[bytes]) -> dict[str, float]:
        """Return how well each charset suits a page, by its lines and the pages before, and remember the page."""
        size = sum(map(len, lines))
        language = _language(body) if lines else ""
        weights = _weigh(lines, language, is_close=self._seen < _ENOUGH) if lines else {}
        with self._lock:
            past, own = _PAST / max(self._votes.values(), default=1), size / max(weights.values(), default=1)
            scores = {
                name: weights.get(name, 0) * own + self._votes[name] * past for name in {**self._votes, **weights}
            }
            for charset, weight in weights.items():
                self._votes[charset] += weight * size
            self._seen += size
            self._last = max(self._votes, key=self._votes.__getitem__, default=_USUAL)
        return scores


def _language(body: bytes) -> str:
    return stated_language(body[:_HEAD].decode("latin-1"))[:2].lower()


def _misfit(claim: str, best: str) -> str:
    return f"{claim} is named, and does not fit: read as {best}"


def outside(body: bytes, begin: re.Pattern[bytes], end: re.Pattern[bytes]) -> bytes:
    """Return a page without its parts between two marks. A part that is not closed ends where the next one begins."""
    first, *parts = begin.split(body)
    return b"\n".join([first, *(part[close.end() :] for part in parts if (close := end.search(part)))])


def _lines(body: bytes) -> list[bytes]:
    """Return the different lines of text with bytes beyond ASCII."""
    lines, size = dict[bytes, None](), 0
    for line in _TAG.sub(b"\n", outside(body, _SCRIPT, _SCRIPT_END)).split(b"\n"):
        text = line.strip()
        if size < _SAMPLE and _WIDE.search(text) and text not in lines:
            lines[text] = None
            size += len(text)
    return list(lines)


def _letters_in(lines: Sequence[bytes], charset: str) -> Counter[str]:
    """Return the letters beyond ASCII, and the other characters inside of words, by which a charset may be refuted.

    Quotes, dashes and fractions tell nothing.
    """
    return Counter(_LETTER.findall(b"\n".join(lines).decode(charset, "replace")))


def _fits(lines: Sequence[bytes], charset: str) -> bool:
    """Return whether nearly all lines can be read: one of ten may be cut in the middle of a character."""
    bad = 0
    for line in lines:
        try:
            line.decode(charset)
        except UnicodeDecodeError:
            bad += 1
    return bad * 10 <= len(lines)


def _weigh(lines: Sequence[bytes], language: str, *, is_close: bool) -> dict[str, float]:
    """Return how well each charset suits the lines.

    They are weighed as a whole and, with `is_close`, in parts: one broken line refutes each charset with characters of
    several bytes.
    """
    # The import takes 7 ms, which only a page without a charset costs.
    import chardet  # noqa: PLC0415

    parts = [lines, *(lines[place::_PARTS] for place in range(_PARTS if is_close and len(lines) >= _PARTS else 0))]
    votes: defaultdict[str, float] = defaultdict(float)
    for part in parts:
        sample = b"\n".join(part)
        rows = chardet.detect_all(sample, ignore_threshold=True, include_encodings=_CHOICE, compat_names=False)
        likely = [row for row in rows if row["confidence"] >= _CLOSE * rows[0]["confidence"]]
        # Words of two scripts leave few of the likeliest, and then the others come into question.
        for row in rows if all(_oddness(sample, row["encoding"] or _USUAL) for row in likely) else likely:
            charset, spoken = row["encoding"] or _USUAL, row["language"] or ""
            charset = _OF_PYTHON.get(charset, charset)
            weight = row["confidence"] * (1 - _oddness(sample, charset))
            votes[charset] += _weighted(weight, charset, spoken, language)
    return {charset: weight for charset, weight in votes.items() if weight > 0}


def _weighted(weight: float, charset: str, spoken: str, language: str) -> float:
    """Return the weight of a guess by its language, `spoken`, beside the `language` that the page names."""
    weight *= _USUAL_WEIGHT if charset == _USUAL else 1
    weight *= _RARE_WEIGHT if spoken in _RARE else 1
    return weight * (_LANGUAGE_WEIGHT if language and spoken == language else 1)


def _oddness(sample: bytes, charset: str) -> float:
    """Return the share of the letters beyond ASCII that stand where no language has them."""
    text = sample.decode(charset, "replace")
    wide = sum(sign > "\x7f" for sign in text)
    odd = len(_MIXED.findall(text))
    for before, at, behind in zip(" " + text, text, text[1:] + " ", strict=False):
        if at > "\x7f" and not at.isalpha():
            kind = unicodedata.category(at)
            is_inside = before.isalpha() and behind.isalpha() and kind[0] != "M" and at not in _IN_WORDS
            odd += at == "¤" or kind == "Cc" or is_inside or (kind in _SYMBOLS and behind.isalpha())
    return min(1.0, 2 * odd / wide) if wide else 0.0
