"""JSON pagination: how the further pages of an answer are asked for, by number, offset, cursor or link."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple
from urllib.parse import urljoin

from crawl_tasks.discovery.json_rules.json_fields import names_of
from crawl_tasks.discovery.probe.api_addresses import PAGER
from crawl_tasks.discovery.probe.json_document import lists, more_told, scalars
from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.parse.json_ld import Json

Read = Callable[[str], Json]
_FULL: Final = 10
"""Records from which on a page may be full, and a second one is asked for."""
_SIZE = re.compile(r"(?<=[?&])((?:limit|size|count|take|per_?page|page_?size)=)\*", re.IGNORECASE)
_CURSOR = re.compile(
    r"(?:.+\.)?(?:(?:next|end)_?)?(?:cursor|token|marker)|(?:.+\.)?(?:next|after|before|since)", re.IGNORECASE
)
_GUESSED = ("page", "offset", "start", "p")


class Pagination(NamedTuple):
    """The address of a second page, which a template fits unless `following` is the YAML rule of the next page."""

    second: str = ""
    following: str = ""


def without_pager(address: str) -> tuple[str, str]:
    """Return the address of the first page, and the name of the parameter that tells pages apart, if there is one."""
    sized = _SIZE.sub(r"\g<1>20", address)
    pager = PAGER.search(sized)
    if pager is None:
        return sized, ""
    before, after = sized[: pager.start()], sized[pager.end() :]
    return before + (f"?{after[1:]}" if after and "?" not in before else after), pager["name"]


def paging_of(read: Read, address: str, path: str, name: str) -> Pagination:
    """Return how pages follow the one at `address`, whose records are at `path`.

    `name` is the parameter that a script names, empty without one: then the usual ones are tried where a page is full.
    """
    first = read(address)
    entries = dict(lists(first)).get(path, [])
    links = [(item, text) for item, text in _cursors(first).items() if re.match(r"/|https?:|\?", text)]
    if links and not name:
        return Pagination(urljoin(address, links[0][1]), f"{{json: {scalar(links[0][0])}, as: url}}")
    is_full = len(entries) >= _FULL or bool(more_told(first, len(entries)))
    names = [name] if name else [*_GUESSED, *_named_cursors(first)] if is_full else []
    for candidate in names:
        for url, following in _seconds(address, candidate, first, len(entries)):
            more = _ids(dict(lists(read(url))).get(path, []))
            if more and not more & _ids(entries):
                return Pagination(url, following)
    return Pagination(_unseen(read, address, path, name) if name else "")


def _unseen(read: Read, address: str, path: str, name: str) -> str:
    """Return the address that a second page has where there is none: the number of the first page tells."""
    first = f"{address}{'&' if '?' in address else '?'}{name}="
    known = _ids(dict(lists(read(address))).get(path, []))
    if not re.match(r"p", name, re.IGNORECASE) or not known:
        return ""
    return f"{first}2" if _ids(dict(lists(read(f"{first}1"))).get(path, [])) == known else f"{first}1"


def _seconds(address: str, name: str, first: Json, size: int) -> Iterator[tuple[str, str]]:
    """Yield addresses that may be those of a second page, with the rule that makes them where no number does."""
    mark = "&" if "?" in address else "?"
    if re.match(r"p", name, re.IGNORECASE):
        # Where pages count from 0, page 1 is the second one.
        yield from ((f"{address}{mark}{name}={number}", "") for number in (1, 2))
    elif re.fullmatch(r"offset|start|skip|from", name, re.IGNORECASE):
        yield f"{address}{mark}{name}={size}", ""
    else:
        query = address.partition("?")[2]
        fixed = f"?{query}&" if query else "?"
        for path, text in _cursors(first).items():
            made = f"{path} && join('', ['{fixed}{name}=', to_string({path})])"
            yield f"{address}{mark}{name}={text}", f"{{json: {scalar(made)}, as: url}}"


def _cursors(answer: Json) -> dict[str, str]:
    return {path: text for path, text in scalars(answer)
            if _CURSOR.fullmatch(path) and "[" not in path and text not in ("", "true", "false")}  # fmt: skip


def _named_cursors(answer: Json) -> Iterator[str]:
    for path in _cursors(answer):
        yield re.sub(r"^(?:next|end)_?", "", path.rpartition(".")[2]).lower() or "cursor"
        yield "after"


def _ids(entries: Sequence[Json]) -> set[str]:
    path = names_of(entries).get("id")
    return {dict(scalars(entry)).get(path, "") for entry in entries} if path else set()


def whole_list(read: Read, address: str, path: str, paging: Pagination, most: int) -> tuple[list[Json], bool]:
    """Return the records of a few pages, and whether the last of them ends the list."""
    entries = list(dict(lists(read(address))).get(path, []))
    size, url, answer = len(entries), paging.second, read(address)
    for _ in range(most):
        if not url:
            break
        answer = read(url)
        more = dict(lists(answer)).get(path, [])
        if not more or _ids(more) <= _ids(entries):
            return entries, True
        entries += more
        url = _after(url, answer, paging, size)
    return entries, not url and not more_told(answer, len(entries))


def _after(url: str, answer: Json, paging: Pagination, size: int) -> str:
    """Return the address of the page after one, empty behind the last."""
    if not paging.following:
        before, _, number = url.rpartition("=")
        step = 1 if re.search(r"[?&]p\w*$", before, re.IGNORECASE) else size
        return f"{before}={int(number) + step}"
    cursor = next(iter(_cursors(answer).values()), "")
    if "join(" not in paging.following:
        return urljoin(url, cursor) if cursor else ""
    return f"{url.rpartition('=')[0]}={cursor}" if cursor else ""
