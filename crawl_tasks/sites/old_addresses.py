"""Addresses that earlier versions of a site file gave: requests that were admitted under them take those of today.

A request waits in the ledger with its address, perhaps for weeks. An address from a link stays as it is.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Self

import orjson

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Request, Stage
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.template import Template

MOST_VERSIONS: Final = 3
"""Versions with other addresses that are remembered."""


class _Version(NamedTuple):
    """The addresses of one version: first and later template by stage, and boards with another address than today's."""

    templates: dict[str, list[list[str | int] | None]]
    boards: dict[str, str]

    def of(self, request: Request) -> str | None:
        if request.stage is Stage.LIST and request.page == 1 and request.key in self.boards:
            return self.boards[request.key]
        first, rest = self.templates.get(request.stage.value, (None, None))
        template = first if request.page == 1 else rest
        if template is None:
            return None
        text, step = template
        try:
            return Template(str(text), int(step)).address(request.key, request.page)
        except RefusedAddress:
            return None


class OldAddresses:
    """The addresses of the last versions that differ from the present one."""

    def __init__(self, versions: list[_Version]) -> None:
        self._versions = versions

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the addresses from the text that `text` gave, none from an empty text."""
        return cls([_Version(*row) for row in orjson.loads(text or "[]")])

    def text(self) -> str:
        """Return the addresses as JSON."""
        return orjson.dumps([tuple(version) for version in self._versions]).decode()

    def after(self, before: Site, now: Site) -> OldAddresses:
        """Return the addresses to remember when a version is published after another."""
        present = Addresses(now)
        versions = [_Version(_templates(before), _boards(before, present)), *self._versions]
        templates = _templates(now)
        # A file that was set back has an earlier version's addresses, which are today's then.
        differing = [version for version in versions if version.templates != templates or version.boards]
        return OldAddresses(differing[:MOST_VERSIONS])

    def gave(self, request: Request) -> bool:
        """Return whether the address of a request is that of an earlier version."""
        return any(version.of(request) == request.address for version in self._versions)

    def moved(self, request: Request, addresses: Addresses) -> str | None:
        """Return the address of today for a request whose address is an earlier one, else None.

        Raises:
            RefusedAddress: the key makes no address.
        """
        if not self._versions or not self.gave(request):
            return None
        address = addresses.of(request.stage, request.key, request.page)
        return None if address == request.address else address


def _templates(site: Site) -> dict[str, list[list[str | int] | None]]:
    addresses, written = Addresses(site), dict[str, list[list[str | int] | None]]()
    for stage in site.stages:
        templates = [addresses.template(stage, page) for page in (1, 2)]
        written[stage.value] = [None if template is None else [template.text, template.step] for template in templates]
    return written


def _boards(site: Site, now: Addresses) -> dict[str, str]:
    own = Addresses(site)
    given = {board.id: own.of(Stage.LIST, board.id) for board in site.own_boards if board.address}
    return {name: address for name, address in given.items() if address and address != now.of(Stage.LIST, name)}
