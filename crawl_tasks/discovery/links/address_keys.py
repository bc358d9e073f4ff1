"""Keys in the addresses of a page: the parts in which addresses at one place differ, as shapes. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Set

from crawl_tasks.discovery.links.address_shape import SCRIPT, UUID, path_of, shared_start

_ID_BEFORE_TITLE = re.compile(rf"[0-9a-z]{{4,12}}|{UUID.pattern}")
_LETTER_AND_NUMBER = re.compile(r"(.*/)([^/?]+)([-._][a-z]{1,2})(\d+)((?:\.[a-z]{2,5})?/?)")
_PARTS = re.compile(r"([/?&=])")


def word_keys(group: set[str], shapes: dict[str, tuple[str, list[str]]]) -> Iterator[str]:
    """Yield shapes for addresses at one place of a page that differ in one part, whose numbers do not explain that."""
    families: dict[tuple[str, ...], dict[str, str]] = {}
    for url in group:
        parts = _PARTS.split(path_of(url))
        for at in range(0, len(parts), 2):
            if parts[at]:
                families.setdefault((*parts[:at], "*", *parts[at + 1 :]), {})[parts[at]] = url
    for family, members in families.items():
        known = {shapes[url][0] for url in members.values()}
        # `board-1-old-cars.html`: three words are a key, but not with the word that all have.
        is_whole = family.index("*") == 2 and known == {"".join(family)}
        is_known = len(known) == 1 and re.search(r"[#*]", min(known)) and not is_whole
        if len(members) > 1 and not is_known and not _are_pages(family, members, shapes):
            yield _word_key(family, members)


def _are_pages(
    family: tuple[str, ...], members: Mapping[str, str], shapes: Mapping[str, tuple[str, list[str]]]
) -> bool:
    """Return whether addresses that differ in one part are pages of kinds of their own: /login beside /members.

    So are /reply/1 beside /report/1, scripts such as /bbs/faq.php beside /bbs/new.php, a query that is a path, as
    ?user-4.htm beside ?thread-9.htm, and a script with a query: forum_viewforum.php?id=2, forum_viewtopic.php?id=9.
    """
    at = family.index("*")
    are_scripts = all(SCRIPT.search(text) for text in members)
    if are_scripts and "?" in family[at + 1 :]:
        return True
    if _head_of(members):
        return False
    start = "".join(family[:at])
    is_query = family[at - 1 :] == ("?", "*") and any(
        shape.startswith(start) and "=" not in shape and "#" in shape for shape, _ in shapes.values()
    )
    return at == 2 or is_query or are_scripts


def _head_of(texts: Collection[str]) -> str:
    """Return the words with which all texts begin: `board-`."""
    return re.sub(r"[^-._]*$", "", shared_start(texts))


def _word_key(family: tuple[str, ...], texts: Collection[str]) -> str:
    """Return the shape of addresses that differ in one part, which has these texts."""
    at = family.index("*")
    # Numbers beside are keys too: that of the board in a thread's address.
    before, after = ("".join(map(_mark_of, parts)) for parts in (family[:at], family[at + 1 :]))
    numbers = [re.fullmatch(r"(?P<lead>\d+)[-._].+|.+[-._](?P<trail>\d+)", text) for text in texts]
    kinds = {match.lastgroup for match in numbers if match}
    if all(numbers) and len(kinds) == 1:
        # A number before or behind a title is the key, whatever the title looks like.
        return f"{before}{'#~' if kinds == {'lead'} else '~#'}{after}"
    end = shared_start([text[::-1] for text in texts])[::-1]
    tail = end[end.rindex(".") :] if re.search(r"\.[a-z]{2,5}$", end) else ""
    return f"{before}{_head_of(texts)}*{tail}{after}"


def titled_keys(group: set[str], paths: Set[str]) -> Iterator[str]:
    """Yield shapes for addresses at one place of a page that have a title beside the key, and differ in both.

    `/t/old-cars/12`, `/comments/x7k2q/old-cars` and `/old-cars-t12.html`. A board's name before a thread's number is no
    title: the board has a link of its own, in `paths`.
    """
    families: dict[str, set[tuple[str, str]]] = {}
    for path in map(path_of, group):
        for shape, title, key in _titled_shapes(path, paths):
            families.setdefault(shape, set()).add((title, key))
    for shape, pairs in families.items():
        titles, keys = ({pair[at] for pair in pairs} for at in (0, 1))
        # Numbers alone have a shape of their own, which no `/user/mary` fits.
        is_told = "*" not in shape or (any(re.search(r"\d", key) for key in keys) and not all(map(str.isdigit, keys)))
        if is_told and len(titles) > 1 and len(keys) == len(pairs) and 2 * len(titles) > len(keys):
            yield shape


def _titled_shapes(path: str, paths: Set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the shapes that a path may have with a title beside a key, and that title and key."""
    parts = path.split("/")
    for at in range(1, len(parts) - 1):
        before, (part, other), after = "/".join(parts[:at]), parts[at : at + 2], parts[at + 2 :]
        if f"{before}/{part}" in paths or "?" in path:
            continue
        if part and not part.isdigit() and other.isdigit():
            yield "/".join((before, "~/#", *after)), part, other
        if _ID_BEFORE_TITLE.fullmatch(part) and other and not other.isdigit():
            yield "/".join((before, "*/~", *after)), other, part
    if match := _LETTER_AND_NUMBER.fullmatch(path):
        yield "{}~{}#{}".format(*match.group(1, 3, 5)), match[2], match[4]


def _mark_of(part: str) -> str:
    return "#" if part.isdigit() else "*" if UUID.fullmatch(part) else part
