"""The fetch policy: limits, hosts, headers and proxy of one site, made from its file by the composition root."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from crawl_tasks.fetch.login_sessions import LoginPolicy
from crawl_tasks.fetch.throttle import Clock
from crawl_tasks.model import Fetched, HttpRequest, Request, Stage
from crawl_tasks.proxy import Proxy

Build = Callable[[Request, dict[str, str]], HttpRequest]
Prepare = Callable[[Request, HttpRequest], HttpRequest]
OnResponse = Callable[[Request, Fetched], Fetched]
ReadFrom = Callable[[Request, Clock, int], bytes]
Reads = Callable[[Request, Fetched], bool]

_PRODUCT = re.compile(r"(?:.*?\bcompatible;\s*)?([A-Za-z_][A-Za-z0-9_\-]*)")

# Headers that say nothing about us: these may follow a redirect to another origin, unlike cookies and keys.
_HARMLESS = frozenset({"accept", "accept-language", "dnt", "upgrade-insecure-requests", "cache-control", "pragma"})


class RenderPolicy(NamedTuple):
    """The terms by which the browser draws a page: schema.py describes them.

    `reads` tells whether the rules find something in the document itself. Such a page is not drawn.
    """

    wait_for: str = ""
    quiet_s: float = 0.5
    scroll: int = 0
    click_more: str = ""
    response: str = ""
    timezone: str = "UTC"
    reads: Reads | None = None


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """The settings by which a site's pages are fetched.

    `allowed_hosts` are names, or `host:port` for a port other than 80 and 443. `private_hosts` are `host:port`: these
    alone may lie in a private network. `robots_agent` is the name to look for in robots.txt (empty: the product name of
    `user_agent`). `headers` may hold secrets. They go to `origin` only (empty: the origin of the requested page),
    except for those that say nothing about us. `proxy` replaces the installation's (None: the installation's).
    `build` makes the request for a page, `prepare` changes each one, `on_response` sees each page first: None for none.
    `read_from` reads pages in place of the network. `render` has the stages whose pages the browser draws.
    """

    user_agent: str
    allowed_hosts: frozenset[str]
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    deadline_s: float = 30.0
    max_wire_bytes: int = 8 << 20
    max_body_bytes: int = 16 << 20
    max_redirects: int = 5
    private_hosts: frozenset[str] = frozenset()
    robots: bool = True
    robots_agent: str = ""
    origin: str = ""
    proxy: Proxy | None = None
    build: Build | None = None
    prepare: Prepare | None = None
    on_response: OnResponse | None = None
    read_from: ReadFrom | None = None
    cookies: bool = False
    login: LoginPolicy | None = None
    render: Mapping[Stage, RenderPolicy] = field(default_factory=dict)

    def request_for(self, request: Request) -> HttpRequest:
        """Return the request for a page, with all headers of the site."""
        headers = dict(self.headers)
        return HttpRequest(request.address, headers) if self.build is None else self.build(request, headers)

    def headers_for(self, origin: str, first: str, headers: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the `headers` (the site's) that may go to an origin. `first` is the origin of the requested page."""
        headers = self.headers if headers is None else headers
        if origin == (self.origin or first):
            return dict(headers)
        return {name: value for name, value in headers.items() if name.lower() in _HARMLESS}

    @property
    def product(self) -> str:
        """The user agent of robots.txt: `bot` for `bot/1.0` and for `Mozilla/5.0 (compatible; bot/1.0)`."""
        return self.robots_agent or _product_in(self.user_agent)


@lru_cache(maxsize=256)
def _product_in(user_agent: str) -> str:
    match = _PRODUCT.match(user_agent)
    return match[1] if match else user_agent
