"""The texts of the demo forum: names, titles and bodies in Chinese and English, as HTML and as plain text."""

from __future__ import annotations

import html
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import NamedTuple
from zlib import crc32


class Language(StrEnum):
    """The language of a board. The value is the page's `lang` attribute."""

    CHINESE = "zh"
    ENGLISH = "en"


class TextPair(NamedTuple):
    """The same words twice: as HTML of the page, and as a reader sees them."""

    html: str
    text: str


@dataclass(frozen=True, slots=True)
class _Words:
    openers: tuple[str, ...]
    subjects: tuple[str, ...]
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    names: tuple[str, ...]
    space: str
    stop: str


_WORDS = {
    Language.CHINESE: _Words(
        openers=("", "说实话，", "昨天", "其实", "请问", "个人觉得", "看了半天，", "谢谢分享，", "补充一下，"),
        subjects=("这台显示器", "楼主", "新版固件", "这家小店的豆浆", "早班车", "我的旧键盘", "那本书"),
        verbs=("比想象的好", "总是莫名其妙地断开", "已经用了三年", "需要重新校准", "让人印象深刻", "修好了"),
        objects=("，值得一试", "，有人遇到过吗", "，图在楼下", "，大家怎么看", "，不吹不黑", "，回头再来更新", ""),
        names=("山间小鹿", "老王", "半夏", "一只橘猫", "云上漫步", "码农小李", "南风知我意", "豆腐脑", "阿杰"),
        space="",
        stop="。",
    ),
    Language.ENGLISH: _Words(
        openers=("", "Honestly, ", "For what it's worth, ", "As of today, ", "Quick update: ", "In my experience, "),
        subjects=("the old router", "this build", "my second keyboard", "the morning train", "the index"),
        verbs=("refuses to start", "works better than expected", "was fixed by a cable", "drops packets"),
        objects=(" after the update", " and nobody knows why", ", pictures below", " -- any ideas?", ""),
        names=("mossy_oak", "Ada", "tin.can", "Nils", "quietriver", "BitRot", "o'hara", "Zoë", "Rosalind"),
        space=" ",
        stop=".",
    ),
}  # fmt: skip

# Each is easy to misread: entities, no-break spaces, emoji, line breaks, decomposed accents.
_SPICES = (
    TextPair("R&amp;D", "R&D"),
    TextPair("&lt;T&gt;", "<T>"),
    TextPair("&ldquo;ok&rdquo;&hellip;", "“ok”…"),
    TextPair("3&nbsp;&times;&nbsp;4", "3 × 4"),
    TextPair("😀👍🏽", "😀👍🏽"),
    TextPair('<img class="emoji" src="/static/e/1f60a.png" alt="😊">', "😊"),
    TextPair("<code>if a &lt; b &amp;&amp; c:</code>", "if a < b && c:"),
    TextPair('<a href="https://example.org/?a=1&amp;b=2" rel="nofollow">example.org</a>', "example.org"),
    TextPair("<strong>重要</strong>", "重要"),
    TextPair("<br>\n  PS", "\nPS"),
    TextPair("caf&eacute; \n   nai&#776;ve", "café naïve"),
)
_CODES = (
    "def f(x: int) -> str:\n    return '<b>' + str(x & 1)",
    "SELECT * FROM t\n WHERE a < 3 AND b > 4;",
    "$ make test && echo 完成",
)
_TITLE_MARKS = (' <T> & "quotes"', " C++ / List<int>", " [已解决]", " 🎉", " -- 50% off & more", " 'n' “roll”")


class Texts:
    """Writes in one language. All randomness is the caller's, so that streams do not disturb each other."""

    def __init__(self, language: Language, rng: Random) -> None:
        words = _WORDS[language]
        self._names = words.names
        self._space = words.space
        self._sentences = [_sentence(words, rng) for _ in range(400)]

    def name(self, number: int) -> str:
        """Return the name of the user with this number."""
        first = self._names[number % len(self._names)]
        return first if number < len(self._names) else f"{first}{number}"

    def title(self, rng: Random) -> str:
        """Return a title as plain text. Some titles have characters that HTML must escape."""
        sentence = rng.choice(self._sentences).rstrip("。.")
        return normalise(sentence + (rng.choice(_TITLE_MARKS) if rng.random() < 0.25 else ""))

    def body(self, rng: Random, paragraphs: int, *, quoted: str | None = None) -> TextPair:
        """Return a text of so many paragraphs, perhaps with a list or code, and a quotation of `quoted` on top."""
        blocks = [_quotation(quoted)] if quoted else []
        blocks += [self._paragraph(rng) for _ in range(paragraphs)]
        dice = rng.random()
        if dice < 0.06:
            blocks.append(_code(rng.choice(_CODES)))
        elif dice < 0.12:
            blocks.append(_list(rng.sample(self._sentences, 3)))
        return TextPair(
            "\n".join(block.html for block in blocks), "\n".join(block.text for block in blocks if block.text)
        )

    def quotable(self, rng: Random) -> str:
        """Return a sentence that another text may quote."""
        return rng.choice(self._sentences)

    def _paragraph(self, rng: Random) -> TextPair:
        text = self._space.join(rng.choices(self._sentences, k=rng.randint(1, 4)))
        if rng.random() >= 0.25:
            return TextPair(f"<p>{html.escape(text)}</p>", text)
        spice = rng.choice(_SPICES)
        return TextPair(f"<p>{html.escape(text)} {spice.html}</p>", normalise(f"{text} {spice.text}"))


def user_id(name: str | None) -> str | None:
    """Return the forum's id of a user, None for a deleted account."""
    return None if name is None else str(crc32(name.encode()))


def normalise(text: str) -> str:
    """Return a body, a title or a name in the form in which truths are compared."""
    lines = (" ".join(line.split()) for line in unicodedata.normalize("NFC", text).splitlines())
    return "\n".join(line for line in lines if line)


def _sentence(words: _Words, rng: Random) -> str:
    parts = [rng.choice(part) for part in (words.openers, words.subjects)]
    sentence = "".join(parts) + words.space + rng.choice(words.verbs) + rng.choice(words.objects)
    return sentence[0].upper() + sentence[1:] + words.stop


def _quotation(text: str) -> TextPair:
    return TextPair(f'<blockquote class="quote"><p>{html.escape(text)}</p></blockquote>', "")


def _code(text: str) -> TextPair:
    return TextPair(f"<pre><code>{html.escape(text)}</code></pre>", normalise(text))


def _list(sentences: list[str]) -> TextPair:
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
    return TextPair(f"<ul>{items}</ul>", "\n".join(sentences))
