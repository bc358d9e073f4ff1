"""A made-up forum drawn from a seed: its properties, and all that is in it."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field
from random import Random

from tests.layouts.further_languages import FURTHER_LANGUAGES
from tests.layouts.languages import LANGUAGES, Language

_SLUGS = (
    "oil", "old", "engine", "noisy", "chain", "brake", "winter", "garden", "pump", "boat", "mast", "tea", "lamp",
    "sugar", "screw", "cover", "shop", "summer",
)  # fmt: skip
_DAY_S = 86_400
_LETTERS = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
BOARD_WORDS = ("forum", "board", "c", "category", "section", "f", "viewforum", "room", "area", "bereich", "razdel", "g")
TOPIC_WORDS = ("topic", "thread", "t", "d", "discussion", "viewtopic", "thema", "tema", "talk", "read", "show", "p")


@dataclass(frozen=True)
class Reply:
    """One thing said; the first of a topic is the topic's own text."""

    key: str
    author: str
    at: int
    lines: tuple[str, ...]
    parent: Reply | None = None
    is_quoting: bool = False
    edited_at: int | None = None
    is_removed: bool = False


@dataclass(frozen=True)
class Thread:
    """A topic of a board."""

    key: str
    slug: str
    board: Section
    title: str
    said: tuple[Reply, ...]
    views: int
    is_pinned: bool = False


@dataclass(frozen=True)
class Section:
    """A board; one with a parent stands on the page of its parent only."""

    key: str
    slug: str
    title: str
    parent: str = ""


@dataclass(frozen=True)
class Drawn:
    """The properties of a layout."""

    seed: int
    language: Language
    front: str
    rows: str
    posts: str
    classes: str
    board_address: str
    topic_address: str
    board_ids: str
    topic_ids: str
    reply_ids: str
    dates: str
    form: str
    pager: str
    counts: str
    zone_hours: int
    per_list: int
    per_thread: int
    flags: frozenset[str] = field(default_factory=frozenset)

    def has(self, flag: str) -> bool:
        return flag in self.flags

    @property
    def precision_s(self) -> int:
        """How exactly the pages tell the time of a post of more than a day ago."""
        return 0 if self.dates != "relative" else _DAY_S


_FLAGS = {
    "panel": 0.45, "signature": 0.25, "quotes": 0.5, "edits": 0.35, "buttons": 0.6, "views": 0.55, "last": 0.65,
    "last author": 0.6, "row author": 0.8, "row date": 0.5, "profile links": 0.6, "pinned": 0.5, "empty board": 0.45,
    "sub-board": 0.3, "sidebar": 0.3, "trail": 0.6, "avatars": 0.4, "mini pager": 0.2, "numbers": 0.35,
    "front counts": 0.5, "front last": 0.3, "first apart": 0.35, "description": 0.5, "headings": 0.5, "form": 0.4,
    "whole card": 0.12, "re": 0.2, "breaks": 0.5, "title apart": 0.3, "other first id": 0.2, "back link": 0.3,
    "search": 0.4, "badge": 0.2, "seconds": 0.3, "first repeated": 0.15, "categories": 0.3, "tags": 0.2,
}  # fmt: skip


CLUTTER = {
    "latest posts": 0.3, "similar threads": 0.3, "row ads": 0.3, "post ads": 0.3, "named pictures": 0.4,
    "last first": 0.3, "reactions": 0.35, "poll": 0.35, "empty first": 0.3, "announcement": 0.25, "subjects": 0.3,
    "rich texts": 0.4, "guests": 0.3, "moved": 0.2, "deep quotes": 0.4, "ruled posts": 0.2,
}  # fmt: skip
"""What stands between the records of real forums, and how often."""

CLUTTERED_FROM = 1000
"""Forums from this seed on are cluttered."""

CROWD = {
    "sticky class": 0.3, "removed": 0.2, "removed by name": 0.15, "dated quotes": 0.3, "dated signatures": 0.2,
    "number links": 0.3, "children beside": 0.5, "short threads": 0.15, "first again": 0.12, "heading button": 0.2,
    "excerpts": 0.25, "ends": 0.3, "two pagers": 0.3, "initials": 0.25, "roles": 0.25, "jump first": 0.2, "op": 0.25,
    "twice": 0.15, "newest first": 0.15, "moved stub": 0.2, "same titles": 0.2, "fresh": 0.25, "bare dates": 0.2,
    "collapsed": 0.15, "posted by": 0.25, "cut titles": 0.15, "prefixes": 0.2,
}  # fmt: skip
"""What further stands in real forums, and how often."""

CROWDED_FROM = 2000
"""Forums from this seed on are crowded, and half as cluttered."""

PACKED = {
    "vote table": 0.25, "best answer": 0.25, "deleted users": 0.3, "spoilers": 0.25, "weekdays": 0.3, "ratings": 0.25,
    "edited by": 0.35, "attachments": 0.35, "prefix links": 0.3, "unread marks": 0.35,
}  # fmt: skip
"""What else stands in real forums, and how often."""

PACKED_FROM = 3000
"""Forums from this seed on are packed, and half as crowded."""

VARIED = {
    "epochs": 0.25, "path pager": 0.4, "root boards": 0.3, "underscores": 0.3, "both ids": 0.3, "permalinks": 0.35,
    "quote tables": 0.35, "date first": 0.25, "rare long": 0.25, "short views": 0.3, "one line": 0.25, "likes": 0.3,
    "page titles": 0.25, "striped": 0.35, "separators": 0.25, "positions": 0.25, "wrapped": 0.3, "offset dates": 0.3,
    "days": 0.15, "last page": 0.3,
}  # fmt: skip
"""How else real forums vary, and how often."""

VARIED_FROM = 4000
"""Forums from this seed on vary further, and are half as packed."""

FURTHER_FROM = 10_000
"""Forums from this seed on are in further languages."""

DELETED = "Deleted user"


def drawn(seed: int) -> Drawn:
    """Return the layout of a seed."""
    random = Random(f"layout {seed}")
    pick = random.choice
    languages = FURTHER_LANGUAGES if seed >= FURTHER_FROM else LANGUAGES
    language = languages[seed // 2 % len(languages)]
    flags = frozenset(name for name, chance in _FLAGS.items() if random.random() < chance)
    if seed >= CLUTTERED_FROM:
        share = 0.5 if seed >= CROWDED_FROM else 1
        flags |= {name for name, chance in CLUTTER.items() if random.random() < share * chance}
    if seed >= CROWDED_FROM:
        share = 0.5 if seed >= PACKED_FROM else 1
        flags |= {name for name, chance in CROWD.items() if random.random() < share * chance}
    if seed >= PACKED_FROM:
        share = 0.5 if seed >= VARIED_FROM else 1
        flags |= {name for name, chance in PACKED.items() if random.random() < share * chance}
    if seed >= VARIED_FROM:
        flags |= {name for name, chance in VARIED.items() if random.random() < chance}
    rows = pick(("table", "cards", "list", "blocks", "terms"))
    posts = pick(("table", "rows", "cards", "list", "blocks", "terms", "tree"))
    topic_ids = pick(("number", "number", "slug-number", "number-slug", "number/slug", "slug", "uuid", "short"))
    board_ids = pick(("number", "number", "slug", "slug", "number-slug", "uuid"))
    reply_ids = pick(("id", "id", "data", "name", "link", "uuid", "place", "none"))
    dates = pick(("text", "text", "text", "datetime", "title", "relative"))
    style = pick(("path", "path", "query", "html", "below"))
    if style == "below" and board_ids not in ("slug", "number-slug"):
        style = "path"
    board, topic = random.sample(range(len(BOARD_WORDS)), 1)[0], random.sample(range(len(TOPIC_WORDS)), 1)[0]
    words = BOARD_WORDS[board], TOPIC_WORDS[topic]
    addresses = {
        "path": (f"/{words[0]}/{{board}}", f"/{words[1]}/{{topic}}"),
        "query": (f"/{words[0]}.php?id={{board}}", f"/{words[1]}.php?id={{topic}}"),
        "html": (f"/{words[0]}-{{board}}.html", f"/{words[1]}-{{topic}}.html"),
        "below": ("/forums/{board}/", "/forums/{board}/{topic}/"),
    }[style]
    if random.random() < 0.2 and style == "query":
        addresses = addresses[0], addresses[1].replace("?id=", "?f={board}&t=")
    if "both ids" in flags and style == "query":
        addresses = addresses[0], f"/display_{words[1]}.asp?ForumID={{board}}&TopicID={{topic}}"
    if "underscores" in flags and style == "html" and topic_ids == "slug-number":
        addresses = addresses[0], "/{topic}.html"
    if "root boards" in flags and style in ("path", "below") and board_ids == "slug":
        addresses = "/{board}/", "/{board}/{topic}" + "/" * (style == "below")
    return Drawn(
        seed, language, pick(("table", "cards", "list", "terms")), rows, posts,
        pick(("telling", "telling", "hashed", "none", "utility")), *addresses, board_ids, topic_ids, reply_ids, dates,
        pick(language.dates), pick(("page", "page", "offset", "cursor", "more", "words")),
        pick(("column", "words", "words", "icon", "posts", "none")),
        pick((0, language.zone_hours, language.zone_hours)),
        pick((8, 10, 15)), pick((6, 8, 10, 12)), flags,
    )  # fmt: skip


@dataclass(frozen=True)
class Content:
    """All that is in a forum."""

    boards: tuple[Section, ...]
    threads: tuple[Thread, ...]

    def listed(self, board: str) -> list[Thread]:
        there = [one for one in self.threads if one.board.key == board]
        return sorted(there, key=lambda one: (not one.is_pinned, -one.said[-1].at))


def content(layout: Drawn) -> Content:
    """Return what is in the forum of a layout."""
    random = Random(f"content {layout.seed}")
    boards = [
        Section(_key(random, layout.board_ids, place), f"{_SLUGS[place]}-{_SLUGS[place + 4]}", title)
        for place, title in enumerate(layout.language.boards[: random.choice((3, 4, 6))], 1)
    ]
    boards = [_worded(one, layout.board_ids) for one in boards]
    if layout.has("sub-board"):
        last = boards[-1]
        boards[-1] = Section(last.key, last.slug, last.title, parent=boards[0].key)
    if layout.has("empty first"):
        boards.insert(0, boards.pop(-1 - layout.has("sub-board")))
    filled = boards[:-1] if layout.has("empty board") and len(boards) > 3 and not boards[-1].parent else boards
    if layout.has("empty first") and len(boards) > 2:
        filled = [one for one in boards[1:] if one in filled]
    now, titles = int(time.time()) // 60 * 60 - (600 if layout.has("fresh") else 2 * _DAY_S), set[str]()
    threads: list[Thread] = []
    number = random.randrange(100, 5000)
    for place in range(1, random.randrange(26, 44)):
        board = filled[0] if place % 2 else filled[place // 2 % len(filled)]
        count = random.choice((0, 0, 1, 2, 3, 4, 5, 7)) if place not in (3, 9) else random.randrange(14, 30)
        is_short = layout.has("short threads") or (layout.has("rare long") and place != 9)
        count = min(count, layout.per_thread - 1) if is_short else count
        at = now - random.randrange(3, 400) * _DAY_S - random.randrange(0, 1400) * 60
        at = now - random.randrange(2, 4000) * 60 if layout.has("fresh") and place % 5 == 0 else at
        said: list[Reply] = []
        for turn in range(count + 1):
            number += random.randrange(1, 4)
            at = min(at + random.randrange(5, 900) * 60 + (layout.has("seconds") and 17), now)
            lines = tuple(_line(random, layout.language) for _ in range(random.choice((1, 1, 2, 3))))
            lines = (f"{lines[0]} [{number}]", *lines[1:])
            parent = random.choice(said) if said and random.random() < 0.4 else None
            edited = min(at + 3600, now) if random.random() < 0.2 else None
            key = str(uuid.UUID(int=random.getrandbits(128))) if layout.reply_ids == "uuid" else str(number)
            author = random.choice(layout.language.names)
            author = DELETED if layout.has("deleted users") and number % 13 == 0 else author
            is_quoting = parent is not None and random.random() < 0.6
            said.append(Reply(key, author, at, lines, parent, is_quoting, edited, _is_removed(layout, number, turn)))
            if turn == 0 and layout.has("other first id"):
                number += 10_000
        title = _title(random, layout.language, titles)
        title = threads[-1].title if layout.has("same titles") and place % 9 == 4 else title
        joint = "_" if layout.has("underscores") else "-"
        slug = "-".join(random.sample(_SLUGS, 3)) + ("" if layout.topic_ids != "slug" else f"-{_SLUGS[place % 9]}")
        thread = Thread(
            _key(random, layout.topic_ids, number), slug, board, title, tuple(said), random.randrange(40, 9000),
            is_pinned=layout.has("pinned") and place in ((1, 2, 5) if layout.has("sticky class") else (2,)),
        )  # fmt: skip
        behind = "-" if "?" in layout.topic_address else "/"
        keys = {
            "slug": slug, "slug-number": f"{slug}{joint}{thread.key}", "number-slug": f"{thread.key}-{slug}",
            "number/slug": f"{thread.key}{behind}{slug}",
        }  # fmt: skip
        key = keys.get(layout.topic_ids, thread.key)
        if any(one.key == key for one in threads):
            continue
        threads.append(Thread(key, slug, board, title, thread.said, thread.views, thread.is_pinned))
    return Content(tuple(boards), tuple(threads))


def _is_removed(layout: Drawn, number: int, turn: int) -> bool:
    return turn > 0 and number % 7 == 0 and layout.has("removed")


def _worded(board: Section, kind: str) -> Section:
    key = {"slug": board.slug, "number-slug": f"{board.key}-{board.slug}"}.get(kind, board.key)
    return Section(key, board.slug, board.title, board.parent)


def _key(random: Random, kind: str, number: int) -> str:
    if kind == "uuid":
        return str(uuid.UUID(int=random.getrandbits(128)))
    return "".join(random.choice(_LETTERS) for _ in range(8)) if kind == "short" else str(number)


def _line(random: Random, language: Language) -> str:
    """Return a sentence: now and then one that others say too."""
    if random.random() < 0.3:
        return random.choice(language.lines)
    joint = "" if language.code in ("zh", "ja") else " "
    return joint.join(random.sample(language.words, random.randrange(4, 14))).capitalize() + "."


def _title(random: Random, language: Language, known: set[str]) -> str:
    joint = "" if language.code in ("zh", "ja") else " "
    while True:
        title = joint.join(random.sample(language.words, random.randrange(3, 7)))
        title = title[:1].upper() + title[1:] + random.choice(("?", "", "", "!"))
        if title not in known:
            known.add(title)
            return title
