"""Address shapes: path and query of an address with marks for the keys in it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from crawl_tasks.discovery.text.yaml_rules import literal

_NUMBERS = re.compile(r"(\d+)")
SCRIPT = re.compile(r"\.(?:php|cgi|aspx?|jsp|pl)$")
# A directory: `e107_plugins`.
_NUMBERED_NAME = re.compile(r"[A-Za-z]+\d+_?[A-Za-z][\w.]*")
_WORDS = re.compile(r"[^\W\d_]{2,}")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24,}")
_MARKS = re.compile(r"(#|\*|~-(?=#)|~)")
# A session id differs at every visit, so it is no part of an address.
_SESSION = re.compile(r"[0-9a-f]{24,}")
PEOPLE = re.compile(r"user|member|profile|people|author|/u/|uid=|space", re.IGNORECASE)
_STRANGERS = re.compile(
    r"user|member|profile|people|login|register|signup|search|tag|static|private|help|about|faq|feed|rss|terms|privacy"
    r"|redirect|goto|lastpost|newest|author|avatar|share|print|report|reply|edit|quote|logout|account",
    re.IGNORECASE,
)
_VERBS = (
    "(?:up|down|un)?(?:vote|like|follow|subscribe|watch|lock|pin|stick|mark|block|mute|ban)|dislike|(?:no)?good|react|rate"
    "|thanks?|kudos|bookmark|scrap|favou?rites?|fave|flag|report|hide|ignore|delete|remove|edit|modify|update|write|reply"
    "|quote|compose|invite|approve|close|move|merge|split|restore|donate"
)
# A thread or a board may be called so: message.php?id=12, read.php?message=12.
_NOUNS = "pm|memo|message|e?mail|award|cart"
_ACTS = re.compile(
    # Scripts named by an act: good.php, write_update.php, newreply.php; and forms.
    rf"/(?:[^/?]*_)?(?:(?:new|post|add|do|send)[_-]?)?(?:{_VERBS}|form|new(?:reply|thread|topic|post))(?:[_-][^/?]*)?"
    r"\.(?:php|cgi|aspx?|jsp|pl|do)(?=[/?]|$)"
    # An act behind a key, and before one; the words that boards may have are no acts there.
    rf"|[\d#*]/(?:{_VERBS}|{_NOUNS})/?(?=\?|$)"
    r"|/(?:(?:up|down|un)?(?:vote|like|follow|subscribe)|bookmark|favou?rite|fave|hide|flag|ignore|report|reply|quote|edit"
    r"|delete)(?:/[\d#*]|\?.*[\d#*])"
    rf"|[?&](?:{_VERBS})(?=[=&]|$)"
    rf"|[?&](?:action|act|do|mode|op|task|cmd|method)=(?:{_VERBS}|{_NOUNS})(?:[_-]?(?:topic|thread|post|comment|msg))?(?=&|$)"
    # Names of functions: act=procDocumentVoteUp.
    r"|[?&](?:action|act|do|op|task|cmd|method)=[^&]*(?:vote|delete|remove|write|reply|log_?in|sign_?up|report|proc(?-i:[A-Z]))"
    # A token against forged requests is in addresses that change something.
    r"|[?&](?:\w*token|(?:transient|security|form)_?key|[cx]srf\w*|\w*nonce|formhash)=|&hash=",
    re.IGNORECASE,
)


def acts(path: str) -> bool:
    """Return whether an address sounds like an act, such as a vote or an answer: a reader does not request it."""
    return bool(_ACTS.search(path))


def is_stranger(path: str) -> bool:
    """Return whether an address sounds like one of people or page chrome, or like an act."""
    return bool(_STRANGERS.search(path)) or acts(path)


def shared_start(texts: Collection[str]) -> str:
    """Return the longest beginning that texts share."""
    first, other = min(texts), max(texts)
    return first[
        : next((at for at, pair in enumerate(zip(first, other, strict=False)) if pair[0] != pair[1]), len(first))
    ]


def keys_pattern(shape: str) -> str:
    """Return a regex with a group for each key of a shape."""
    marks = {"#": r"(\d+)", "*": "([^/?&#]+)", "~": "[^/?]*", "~-": "[^/?]*[-._]"}
    return "^" + "".join(marks.get(part) or re.escape(part) for part in _MARKS.split(shape.replace("~#", "~-#"))) + "$"


def shape_of(url: str, *, loosely: bool = False) -> tuple[str, list[str]]:
    """Return path and query with # for numbers, * for words that are a key, ~ for titles, and the texts at # and *.

    With `loosely` a number behind a short word is taken for a key behind a title too.
    """
    keys: list[str] = []
    where = urlsplit(url)
    segments = where.path.split("/")
    last = len(segments) - 1 - (not segments[-1])
    shaped = []
    for at, text in enumerate(segments):
        # /topic/12/how-i-lost-91: a number alone is the key, and the end of the path is a title then.
        is_title = at == last and segments[at - 1].isdigit() and "." not in text and bool(text) and not text.isdigit()
        if at < last and _NUMBERED_NAME.fullmatch(text):
            shaped.append(text)
        elif at == last and where.query and SCRIPT.search(text):
            # The words of `forum_viewtopic.php?id=9` are no title.
            shaped.append(_numbers_out(text, keys))
        else:
            shaped.append("~" if is_title else _segment(text, keys, loosely=loosely))
    if "~" in shaped[last]:
        # Titles at the end of an address mean titles in the middle too: /forum/bikes-3/topic/a-flat-tyre-91
        shaped[:last] = [re.sub(r"^[^#*~]+[-._]#$", "~#", text) for text in shaped[:last]]
    pairs = [pair for pair in where.query.split("&") if pair and not _SESSION.search(pair)]
    query = "&".join(_pair(pair, keys) for pair in pairs)
    return "/".join(shaped) + (f"?{query}" if query else ""), keys


def _pair(pair: str, keys: list[str]) -> str:
    name, _, value = pair.partition("=")
    if UUID.fullmatch(value):
        keys.append(value)
        return f"{name}=*"
    return _numbers_out(pair, keys)


def _segment(segment: str, keys: list[str], *, loosely: bool) -> str:
    if segment.isdigit():
        keys.append(segment)
        return "#"
    if UUID.fullmatch(segment):
        keys.append(segment)
        return "*"
    lead = re.fullmatch(r"(\d+)[-._](?=.*[^\d.]).+", segment)
    trail = re.fullmatch(r".*[-._](\d+)" if loosely else r".{8,}[-._](\d+)", segment)
    if lead or trail:
        keys.append((lead or trail)[1])  # type: ignore[index]  # one of the two matched
        return "#~" if lead else "~#"
    if len(_WORDS.findall(segment)) >= 3 or (len(segment) > 24 and "." not in segment):
        keys.append(segment)
        return "*"
    return _numbers_out(segment, keys)


def _numbers_out(text: str, keys: list[str]) -> str:
    keys += _NUMBERS.findall(text)
    return _NUMBERS.sub("#", text)


def identity_of(shape: str, group: str, place: int = 0, *, is_whole: bool = False) -> str:
    """Return a regex that reads the key at a place out of addresses of a shape, with `is_whole` from the first key on.

    Numbers that each board of an image board gives anew are ids with the board's name: `b/res/12`, `12&board=b`.
    """
    written: list[str] = []
    seen = 0
    first, last = (0, place or len(re.findall("[#*]", shape)) - 1) if is_whole else (place, place)
    for part in _MARKS.split(shape.replace("~#", "~-#")):
        if part in ("#", "*"):
            inner = r"\d+" if part == "#" else "[^/?&#]+"
            start, end = seen == first, seen == last
            written.append(f"(?P<{group}>" * start + inner + ")" * end)
            seen += 1
        else:
            written.append({"~": "[^/?]*", "~-": "[^/?]*[-._]"}.get(part) or literal(part))
    return f"^{''.join(written)}$"


def path_of(url: str) -> str:
    """Return path and query."""
    where = urlsplit(url)
    return where.path + (f"?{where.query}" if where.query else "")
