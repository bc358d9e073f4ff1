"""What the tests of all presets ask: a short site file, and pages of ours in a program's markup read by it."""

from __future__ import annotations

from collections.abc import Mapping

from crawl_tasks.model import Parsed, Request, Stage
from crawl_tasks.parse.board_index import IndexReader
from crawl_tasks.parse.site_parser import compile_parser
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.presets import load_engine
from tests.unit.pages import BASE, answer


class Preset:
    """A forum of one program."""

    def __init__(self, engine: str, more: str = "") -> None:
        self.site = parse_site(f"name: forum\nbase: {BASE}\nengine: {engine}\n{more}", "forum.yaml")
        self.addresses = Addresses(self.site)
        self._parser = compile_parser(self.site)

    def parse(
        self, stage: Stage, key: str, body: str, *, page: int = 1, tail: int = 0, url: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Parsed:  # fmt: skip
        """Read a page; `url` is where it was found, where the preset makes no address."""
        request = Request("forum", stage, key, url or self.addresses.of(stage, key, page) or f"{BASE}/", page)
        fetched = answer(request, body)
        return self._parser.parse(request, fetched._replace(headers={**fetched.headers, **(headers or {})}), tail)

    def boards(self, body: str) -> list[tuple[str, str | None, str | None]]:
        """Return id, title and parent of each board on a front page."""
        index = load_engine(self.site.engine or "").index
        assert index is not None
        page = answer(Request("forum", Stage.LIST, "", f"{BASE}/"), body)
        return [(one.board_id, one.title, one.parent_id) for one in IndexReader(self.site, index).read(page).boards]

    def named(self, address: str) -> tuple[str, str, int] | None:
        """Return what an address of the forum names: stage, key and page."""
        target = self.addresses.read(address)
        return None if target is None else (target.stage.value, target.key, target.page)
