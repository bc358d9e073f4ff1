"""Grants: the files, functions, secrets and private hosts that this process gives to published sites.

Whoever can write to Redis can publish a site. So a published site gets beyond the public web only where the settings of
this process say so, or where this process has the site's file and that file asks for the same.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote, urlsplit

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.site_json import read_site
from crawl_tasks.urls import origin_of

SUFFIXES: Final = (".yaml", ".yml")
"""The ends of the names of site files."""


class Power(StrEnum):
    """What a site can ask for beyond the public web. The value is the setting that grants it."""

    DUMP = "CRAWL_DUMP_ROOTS"
    FUNCTION = "CRAWL_FUNCTION_MODULES"
    SECRET = "CRAWL_FORUM_SECRETS"  # noqa: S105 (the name of a setting)
    HOST = "CRAWL_PRIVATE_HOSTS"


class Need(NamedTuple):
    """One thing that a site asks for: a dump, `module:function`, FORUM_NAME=ORIGIN or HOST:PORT."""

    power: Power
    value: str
    key: str


def needs_of(site: Site) -> Iterator[Need]:
    """Yield all that a site asks for beyond the public web, each with its key in the site file."""
    if site.read_from is not None and "://" in site.read_from:
        yield Need(Power.DUMP, site.read_from, "read_from")
    yield from (Need(Power.FUNCTION, name, key) for key, name in _functions(site) if name is not None)
    origin = origin_of(site.base)
    yield from (Need(Power.SECRET, f"{name}={origin}", key) for key, name in _secrets(site) if name is not None)
    yield from (Need(Power.HOST, place, "private_hosts") for place in site.private_hosts)
    if site.proxy is not None and not site.proxy.startswith("FORUM_"):
        # "direct" as well: it goes round the proxy that this process was given.
        yield Need(Power.HOST, site.proxy.rpartition("://")[2].rstrip("/").lower(), "proxy")


def _functions(site: Site) -> Iterator[tuple[str, str | None]]:
    yield "read_from", site.read_from if site.read_from and "://" not in site.read_from else None
    for key in ("prepare_request", "on_response", "priority_of", "start_request"):
        yield key, getattr(site, key)
    yield "login.function", site.login.function if site.login else None
    yield from ((f"hooks.{event}", name) for event, name in site.hooks.model_dump().items())
    yield from ((f"{stage.value}.parser", spec.parser) for stage, spec in site.stages.items())
    yield from (("items", step.function) for step in site.items)


def _secrets(site: Site) -> Iterator[tuple[str, str | None]]:
    yield from (("secret_headers", name) for name in site.secret_headers.values())
    if site.login is not None:
        yield from (("login.secrets", name) for name in site.login.secrets.values())
        yield from (("login", name) for name in (site.login.bearer, site.login.cookie_file))
    yield "proxy", site.proxy if site.proxy and site.proxy.startswith("FORUM_") else None


@dataclass(frozen=True, slots=True)
class Grants:
    """The grants of one process. `sites_dir` has its own site files, `load` reads one."""

    sites_dir: Path
    dump_roots: frozenset[str] = frozenset()
    function_modules: frozenset[str] = frozenset()
    forum_secrets: frozenset[str] = frozenset()
    private_hosts: frozenset[str] = frozenset()

    def read(self, text: str | bytes) -> Site:
        """Return a published site that asks for nothing that this process does not give.

        Raises:
            SiteError: the site asks for more, or an incompatible version wrote it.
        """
        site = read_site(text)
        self.check(site)
        return site

    def check(self, site: Site) -> None:
        """Refuse a published site that asks for more than this process gives.

        Raises:
            SiteError: the site asks for more. The message names the key, and the setting.
        """
        missing = [need for need in needs_of(site) if not self._is_granted(need)]
        if not missing:
            return
        own = self._own_needs(site.name)
        for need in missing:
            if (need.power, need.value) not in own:
                given = need.value.partition(":")[0] if need.power is Power.FUNCTION else need.value
                raise SiteError(
                    f"site {site.name}: {need.key}: {need.value} is in Redis, which alone opens nothing here; if the"
                    f" site is yours, set {need.power.value}={given} for this process, or give it the site's file in"
                    f" CRAWL_SITES_DIR ({self.sites_dir})"
                )

    def _is_granted(self, need: Need) -> bool:
        return _TESTS[need.power](self, need.value)

    def has_dump(self, place: str) -> bool:
        """Return whether a dump lies at or below a root."""
        return any(_lies_below(place, root) for root in self.dump_roots)

    def has_function(self, name: str) -> bool:
        """Return whether a function is of a granted module, or of one below."""
        module = name.partition(":")[0]
        return any(module == granted or module.startswith(f"{granted}.") for granted in self.function_modules)

    def has_secret(self, pair: str) -> bool:
        """Return whether a variable FORUM_... may be sent to an origin."""
        return pair in self.forum_secrets

    def has_host(self, place: str) -> bool:
        """Return whether a private address may be reached: HOST:PORT, or all ports of HOST."""
        return place in self.private_hosts or place.rpartition(":")[0] in self.private_hosts

    def _own_needs(self, name: str) -> set[tuple[Power, str]]:
        """Return what the site's own file asks for, nothing where this process has none."""
        # The YAML reader costs 20 ms, which a process without such sites does without.
        from crawl_tasks.sites.loader import load_site  # noqa: PLC0415

        try:
            sites = [load_site(file) for file in _files_of(self.sites_dir, name)]
        except (SiteError, OSError):
            # `sites check` and `check` name the mistake. Until it is mended, the file gives nothing.
            return set()
        return {(need.power, need.value) for site in sites if site.name == name for need in needs_of(site)}


_TESTS: Final[dict[Power, Callable[[Grants, str], bool]]] = {
    Power.DUMP: Grants.has_dump,
    Power.FUNCTION: Grants.has_function,
    Power.SECRET: Grants.has_secret,
    Power.HOST: Grants.has_host,
}


def _files_of(directory: Path, name: str) -> list[Path]:
    """Return the site files of a directory that may be those of a site. A file may have another name than its site."""
    says_so = re.compile(rf"""^name:\s*["']?{re.escape(name)}["']?\s*(#.*)?$""", re.MULTILINE)
    files = sorted(file for file in directory.iterdir() if file.suffix in SUFFIXES) if directory.is_dir() else []
    return [file for file in files if says_so.search(file.read_text("utf-8", "replace"))]


def _lies_below(place: str, root: str) -> bool:
    at, top = _spelled(place), _spelled(root)
    return at == top or at.startswith(top.rstrip("/") + "/")


def _spelled(place: str) -> str:
    """Return a directory without links and dots, or an address; an address with dots lies nowhere."""
    if place.startswith("file:") or "://" not in place:
        return os.path.realpath(unquote(urlsplit(place).path) if place.startswith("file:") else place)
    return "" if ".." in unquote(place).split("/") else place.rstrip("/")
