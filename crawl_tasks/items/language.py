"""Language tags by script: enough to tell Chinese, Japanese, Korean, Russian, Ukrainian and English apart.

A detector by n-grams (langdetect, lingua, py3langid) knows more languages, but costs 5 to 300 MB and a millisecond per
text. The posts of one forum differ in their letters.
"""

from __future__ import annotations

import re

ENOUGH = 2000
"""Characters of a text that are examined."""
UNKNOWN = "und"
_SCRIPTS = {
    "kana": re.compile(r"[\u3041-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af]"),
    "zh": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f]"),
}
_WEIGHT = {"kana": 2, "zh": 2, "ko": 2}
"""A Chinese or Korean character says as much as two or three Latin letters."""
# Letters of the Ukrainian alphabet that Russian lacks.
_UKRAINIAN = re.compile(r"[іїєґІЇЄҐ]")
_WORD = re.compile(r"[a-z']+")
_COMMON = (
    "a and are as at be but by can do for from had has have he how i i'm if in is it it's just like me my no not of on "
    "or so that the there they this to was we what when who will with would you your"
)
_ENGLISH = frozenset(_COMMON.split())
_ADDRESS = re.compile(r"https?://\S+")


def language_of(text: str) -> str:
    """Return the language of a text as zh, ja, ko, ru, uk or en, `und` where the letters do not tell."""
    text = _ADDRESS.sub(" ", text[:ENOUGH])
    counts = {name: len(script.findall(text)) * _WEIGHT.get(name, 1) for name, script in _SCRIPTS.items()}
    # Japanese is written with Chinese characters too, but never without kana.
    if counts["kana"] * 10 > counts["zh"]:
        counts["kana"] += counts.pop("zh")
    likeliest = max(counts, key=lambda name: counts[name])
    if not counts[likeliest]:
        return UNKNOWN
    if likeliest == "latin":
        words = _WORD.findall(text.lower())
        return "en" if sum(word in _ENGLISH for word in words) * 6 >= len(words) else UNKNOWN
    if likeliest == "ru":
        return "uk" if _UKRAINIAN.search(text) else "ru"
    return "ja" if likeliest == "kana" else likeliest
