"""The JSON reader: what the pages of a forum and the addresses in their scripts answer, each asked for once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple
from urllib.parse import quote, urljoin

from crawl_tasks.discovery.json_rules.json_fields import names_of
from crawl_tasks.discovery.json_rules.json_pagination import without_pager
from crawl_tasks.discovery.links.address_shape import path_of
from crawl_tasks.discovery.probe.api_addresses import addresses_in
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.json_document import lists, scalars
from crawl_tasks.discovery.probe.page_state import PageState, state_of
from crawl_tasks.errors import PageError, ParseError
from crawl_tasks.parse.document import Document
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.urls import origin_of

_MOST_SCRIPTS: Final = 4
_MOST_TRIED: Final = 6
"""Addresses that are asked for in search of one kind of records."""

_POST = re.compile(r"method[\"']?\s*:\s*[\"']POST|\.post\(", re.IGNORECASE)
_MARKUP = re.compile(r"<(?:li|div|article|tr|section)\b")


class JsonRecords(NamedTuple):
    """A list of records: the template of its address, with `*` for an id, its entries, and the JMESPaths of fields."""

    template: str
    address: str
    path: str
    entries: list[Json]
    names: dict[str, str]

    def values(self, name: str) -> list[str]:
        """Return the values of a field."""
        return [dict(scalars(entry)).get(self.names.get(name, ""), "") for entry in self.entries]


class JsonReader:
    """Reader of the JSON behind a front page. `pagers` has the parameter of pages by template of an address."""

    def __init__(self, probe: HttpProbe, front: Document) -> None:
        """Read the scripts of a front page."""
        self._probe = probe
        self._origin = origin_of(front.page.url)
        self.front = path_of(front.page.url)
        self._scripts = [*self._read_scripts(front)]
        self.pagers: dict[str, str] = {}
        for written in addresses_in(self._scripts):
            address, pager = without_pager(written)
            self.pagers[address] = self.pagers.get(address) or pager
        self._states: dict[str, PageState | None] = {}

    def plain(self, likely: re.Pattern[str]) -> list[str]:
        """Return the front page, and the addresses without an id, likeliest first."""
        templates = sorted(
            (template for template in self.pagers if "*" not in template),
            key=lambda template: not likely.search(template),
        )
        return list(dict.fromkeys((self.front, *templates[:_MOST_TRIED])))

    def templates(self, likely: re.Pattern[str], unlikely: re.Pattern[str] | None = None) -> list[str]:
        """Return the addresses with one id in them, likeliest first."""
        keyed = (template for template in self.pagers if template.count("*") == 1)
        ordered = sorted(
            keyed, key=lambda candidate: (bool(unlikely and unlikely.search(candidate)), not likely.search(candidate))
        )
        return ordered[:_MOST_TRIED]

    def value(self, address: str) -> Json:
        """Return the JSON of an answer or a page, None without any."""
        if address not in self._states:
            self._states[address] = None
            with suppress(PageError):
                self._states[address] = state_of(Document(self._probe.page(urljoin(self._origin, address))))
        state = self._states[address]
        return state.value if state is not None else None

    def place(self, address: str) -> str:
        """Return the YAML of the rule that finds the JSON in a page, empty where the answer is JSON itself."""
        state = self._states.get(address)
        return state.rule if state is not None else ""

    def records(self, template: str, address: str) -> Iterator[JsonRecords]:
        """Yield the lists of records in an answer."""
        for path, entries in lists(self.value(address)):
            if entries and not path.endswith("[1:]"):
                yield JsonRecords(template, address, path, entries, names_of(entries))

    def failure(self, lack: str) -> ParseError:
        """Return the reason why no rules are proposed, with what a person may write."""
        asked = [item for item, state in self._states.items() if state is not None]
        where = (
            f" in the JSON of {', '.join(asked[:4])}" if asked else ", and no JSON in it or at its scripts' addresses"
        )
        reasons = [f"{lack} was found{where}"]
        texts = ((address, path, text) for address in asked for path, text in scalars(self.value(address)))
        marked = ((address, path) for address, path, text in texts if len(_MARKUP.findall(text)) > 1)
        reasons += [f"`embedded: {{json: {path}}}` reads the HTML in {address}" for address, path in islice(marked, 1)]
        if any(_POST.search(text) for text in self._scripts):
            reasons.append("its scripts ask by POST, as `body` in a site file does")
        return self.refused(self.front, f"is drawn by scripts: {'; '.join(reasons)}; see docs/site-files.md#json")

    def refused(self, address: str, reason: str) -> ParseError:
        """Return the reason why an answer gives no rules."""
        return ParseError(f"{urljoin(self._origin, address)} {reason}")

    def _read_scripts(self, front: Document) -> Iterator[str]:
        links = []
        for node in front.root.css("script"):
            source = front.absolute(node.attributes.get("src") or "") if node.attributes.get("src") else None
            if source is not None and origin_of(source) == self._origin:
                links.append(source)
            elif source is None:
                yield node.text()
        for source in links[:_MOST_SCRIPTS]:
            with suppress(PageError):
                yield Document(self._probe.page(source)).source


def filled(template: str, key: str) -> str:
    """Return the address of one board or thread."""
    return template.replace("*", quote(key, safe=""))
