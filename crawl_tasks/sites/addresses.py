"""URL routing of a site: from (stage, key, page) to an address and back, for links, scans and start entries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from crawl_tasks.model import Stage
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.stages import StageSpec
from crawl_tasks.sites.template import Template, compile_template, key_name, normalize_below
from crawl_tasks.urls import normalize


class Target(NamedTuple):
    """The page that an address names."""

    stage: Stage
    key: str
    page: int


@dataclass(frozen=True, slots=True)
class _Stage:
    stage: Stage
    rest: Template | None
    first: Template | None
    patterns: tuple[re.Pattern[str], ...]
    step: int
    lowest: int
    highest: int


class Addresses:
    """The addresses of one site version. Immutable: made once, and quick in each call."""

    def __init__(self, site: Site) -> None:
        self._base = f"{site.base}/"
        self._hosts = site.allowed_hosts
        self._dropped = site.drop_params
        self._stages = {stage: _compile(site, stage, spec) for stage, spec in site.stages.items()}
        self._boards = {
            board.id: normalize_below(site.base, board.address) for board in site.own_boards if board.address
        }
        self._named = {address: board for board, address in self._boards.items()}

    def of(self, stage: Stage, key: str, page: int = 1, step: int | None = None) -> str | None:
        """Return the address of a page, or None where the site file gives no template for the page.

        `step` is the number of records on a page, where a page has shown that number.

        Raises:
            RefusedAddress: The key makes no address.
        """
        if stage is Stage.LIST and page == 1 and key in self._boards:
            return self._boards[key]
        return self.plain(stage, key, page, step)

    def plain(self, stage: Stage, key: str, page: int = 1, step: int | None = None) -> str | None:
        """Return the address that the template makes of an id, also for a board with an address of its own."""
        template = self.template(stage, page)
        return None if template is None else template.address(key, page, step)

    def template(self, stage: Stage, page: int) -> Template | None:
        """Return the template of a stage's pages, None where the site file gives none."""
        known = self._stages.get(stage)
        if known is None:
            return None
        return known.first if page == 1 else known.rest

    def read(self, address: str) -> Target | None:
        """Return the page that an address names, None for an address that the site file does not know.

        Raises:
            RefusedAddress: The text is no address at all.
        """
        whole = normalize(address, self._base, drop_params=self._dropped)
        where = urlsplit(whole)
        if where.hostname not in self._hosts:
            return None
        # A board has an address of its own where the template does not fit, so that no pattern reads the address.
        if whole in self._named:
            return Target(Stage.LIST, self._named[whole], 1)
        for stage in self._stages.values():
            target = _read(stage, _path_in(whole))
            if target is not None:
                return target
        return None

    def absolute(self, address: str) -> str:
        """Return an address of the site, absolute and normalised.

        Raises:
            RefusedAddress: The text is no address.
        """
        return normalize(address, self._base, drop_params=self._dropped)

    def as_seen(self, made: str, target: Target, seen: str, asked: Target) -> str:
        """Return an address in the forum's own spelling of a page of the same board or thread, which saves a redirect.

        Args:
            made: the address of `target` by template.
            target: the page to request.
            seen: the address to which the forum sent us for `asked`, for example with a title.
            asked: the page that was requested there.

        `/threads/9/`, redirected to `/threads/title.9/`, tells that `/threads/9/page-2` is `/threads/title.9/page-2`.
        """
        plain = self.plain(*asked)
        if plain is None or plain == seen or self.read(seen) != asked:
            return made
        tail = _shared_end(plain, seen)
        head, dressed = plain[: len(plain) - tail], seen[: len(seen) - tail]
        written = dressed + made.removeprefix(head)
        # A guessed spelling counts only if the site file reads the same page from the result.
        return written if made.startswith(head) and self.read(written) == target else made

    def size_told(self, stage: Stage, link: str, page: int) -> int | None:
        """Return the number of records on a page, from the offset in the link of page `page` to the next, or None."""
        known = self._stages.get(stage)
        for pattern in known.patterns if known is not None and known.step else ():
            match = pattern.search(_path_in(link))
            offset = int(match.groupdict().get("offset") or 0) if match else 0
            if offset:
                # The next page begins at page x size. A remainder means that the offset counts something else.
                return offset // page if offset % page == 0 else None
        return None

    def is_own_key(self, stage: Stage, key: str) -> bool:
        """Return whether a key is the forum's id. The key in a link to a reply is not: it names no post."""
        address = self.of(stage, key)
        if address is None:
            return True
        target = self.read(address)
        return target is not None and target.key == key

    def is_ours(self, address: str) -> bool:
        """Return whether an absolute address is on a host of this site."""
        return urlsplit(address).hostname in self._hosts

    def key_in(self, stage: Stage, href: str) -> str | None:
        """Return the key in a link, absolute or relative. The host of the link is not checked."""
        known = self._stages.get(stage)
        if known is None:
            return None
        for pattern in known.patterns:
            match = pattern.search(href) or pattern.search(_path_in(href))
            if match:
                return unquote(match[key_name(stage)])
        return None


def _shared_end(first: str, other: str) -> int:
    """Return the number of characters in which the ends of two texts agree."""
    pairs = zip(reversed(first), reversed(other), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _compile(site: Site, stage: Stage, spec: StageSpec) -> _Stage:
    rest = compile_template(spec.address, stage=stage, base=site.base) if spec.address else None
    first = compile_template(spec.first_address, stage=stage, base=site.base) if spec.first_address else rest
    patterns = [re.compile(text) for text in spec.identity]
    if not patterns:
        patterns = [re.compile("^" + _path_of(t.pattern(stage)) + "$") for t in dict.fromkeys((rest, first)) if t]
    lowest = site.comment.first_page if stage is Stage.COMMENT and site.comment else 1
    highest = 1 if stage is Stage.POST else spec.max_pages
    return _Stage(stage, rest, first, tuple(patterns), rest.step if rest else 0, lowest, highest)


def _path_of(pattern: re.Pattern[str]) -> str:
    """Return the pattern without scheme and host, which are compared separately."""
    return re.sub(r"^https?://[^/]+", "", pattern.pattern)


def _path_in(address: str) -> str:
    """Return the path and the query of an address, which patterns read."""
    where = urlsplit(address)
    return where.path + (f"?{where.query}" if where.query else "")


def _read(stage: _Stage, path: str) -> Target | None:
    for pattern in stage.patterns:
        match = pattern.search(path)
        if match is None:
            continue
        groups = match.groupdict()
        page = int(groups.get("page") or 1)
        if groups.get("offset") and stage.step:
            page = int(groups["offset"]) // stage.step + 1
        key = unquote(groups[key_name(stage.stage)] or "")
        if key and stage.lowest <= page <= stage.highest:
            return Target(stage.stage, key, page)
    return None
