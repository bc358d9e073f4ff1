"""Before step 1, survey: links of an unknown forum by their shape, and templates inferred from two addresses. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from selectolax.lexbor import LexborNode

from crawl_tasks.parse.document import Document

_NUMBERS = re.compile(r"(\d+)")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_SESSION = re.compile(r"[0-9a-f]{24,}")
_STRANGERS = re.compile(
    r"user|member|profile|people|login|register|signup|search|tag|static|private|help|about|faq|feed|rss|terms|privacy"
    r"|redirect|goto|lastpost|newest|author|avatar|share|print|report|reply|edit|quote|logout|account",
    re.IGNORECASE,
)
PEOPLE = re.compile(r"user|member|profile|people|author|/u/|uid=|space", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a page. `shape` is its path and query with numbers as # and slugs as *, `key` its first of those."""

    node: LexborNode
    url: str
    shape: str
    key: str
    text: str

    @property
    def is_stranger(self) -> bool:
        """Say whether it is about people or furniture."""
        return bool(_STRANGERS.search(self.shape))

    @property
    def has_slug(self) -> bool:
        """Say whether the address says more than its number, so that it cannot be written from it."""
        return "~" in self.shape or "*" in self.shape


def links_of(document: Document) -> dict[str, list[Link]]:
    """Return the links with words that stay on the host, by shape."""
    host = urlsplit(document.page.url).netloc
    found: dict[str, list[Link]] = {}
    for node in document.root.css("a[href]"):
        url = document.absolute(node.attributes.get("href") or "")
        text = " ".join(node.text().split())
        if url is None or not text or urlsplit(url).netloc != host:
            continue
        shape, keys = shape_of(url)
        if keys:
            found.setdefault(shape, []).append(Link(node, url, shape, keys[0], text))
    return found


def shape_of(url: str) -> tuple[str, list[str]]:
    """Return path and query with # for numbers, ~ for words that stand with one, * for slugs; and what was replaced."""
    where = urlsplit(url)
    keys: list[str] = []
    shaped = [_segment(segment, keys) for segment in where.path.split("/")]
    pairs = [pair for pair in where.query.split("&") if pair and not _SESSION.search(pair)]
    query = "&".join(_numbers_out(pair, keys) for pair in pairs)
    return "/".join(shaped) + (f"?{query}" if query else ""), keys


def _segment(segment: str, keys: list[str]) -> str:
    if segment.isdigit():
        keys.append(segment)
        return "#"
    lead = re.fullmatch(r"(\d+)[-._](?=.*[^\d.]).+", segment)
    trail = re.fullmatch(r".{8,}[-._](\d+)", segment)
    if lead or trail:
        keys.append((lead or trail)[1])  # type: ignore[index]  # one of the two matched
        return "#~" if lead else "~#"
    if keys and segment and "." not in segment and not _NUMBERS.search(segment):
        return "*"  # words after a number are its title
    if len(_WORDS.findall(segment)) >= 3 or (len(segment) > 24 and "." not in segment):
        keys.append(segment)
        return "*"
    return _numbers_out(segment, keys)


def _numbers_out(text: str, keys: list[str]) -> str:
    keys += _NUMBERS.findall(text)
    return _NUMBERS.sub("#", text)


def identity_of(shape: str, group: str) -> str:
    """Return a regex that reads the key out of addresses of a shape."""
    pattern = re.escape(shape).replace(r"\#", "#").replace(r"\~", "~").replace(r"\*", "*")
    mark = "#" if "#" in pattern else "*"
    inner = r"\d+" if mark == "#" else "[^/?]+"
    pattern = pattern.replace(mark, f"(?P<{group}>{inner})", 1)
    head, named, tail = pattern.partition(f"(?P<{group}>{inner})")
    rest = tail.replace("#", r"\d+").replace("~", "[^/?]*")
    head = re.sub("~$", "[^/?]*[-._]", head).replace("~", "[^/?]*")
    return f"^{head}{named}{re.sub(r'(?<![])])[*]', '[^/?]+', rest)}$"


def path_of(url: str) -> str:
    """Return path and query."""
    where = urlsplit(url)
    return where.path + (f"?{where.query}" if where.query else "")


def template_of(url: str, key: str, name: str) -> str:
    """Write an address with its key left open."""
    parts = _NUMBERS.split(path_of(url)) if key.isdigit() else path_of(url).partition(key)
    done = False
    written = []
    for part in parts:
        is_key = part == key and not done
        done = done or is_key
        written.append("{" + name + "}" if is_key else part.replace("{", "%7B").replace("}", "%7D"))
    return "".join(written)


def paged_template(first: str, following: str, key: str, name: str) -> str | None:
    """Write the template of which page 2 is `following` and page 1, perhaps, `first`; None where nothing counts."""
    tokens, before = _NUMBERS.split(path_of(following)), _NUMBERS.split(path_of(first))
    numbers = range(1, len(tokens), 2)
    at_key = next((place for place in numbers if tokens[place] == key), None)
    if at_key is None and key.isdigit():
        return None
    others = [place for place in numbers if place != at_key]
    changed = [place for place in others if place >= len(before) or before[place] != tokens[place]]
    if not changed or int(tokens[changed[-1]]) < 2:
        return None
    at_page = changed[-1]
    value, old = int(tokens[at_page]), int(before[at_page]) if at_page < len(before) else 0
    is_page = value == 2 and old in (0, 1)
    step = value - old if len(tokens) == len(before) else value
    tokens[at_page] = "{page}" if is_page else f"{{offset:{step}}}"
    if at_key is not None:
        tokens[at_key] = "{" + name + "}"
        return "".join(tokens)
    return "".join(tokens).replace(key, "{" + name + "}", 1)
