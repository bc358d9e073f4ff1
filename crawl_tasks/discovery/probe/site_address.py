"""The site address as typed: origin, possible directories, fetch policy and a name for the site. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from crawl_tasks.fetch.fetch_policy import FetchPolicy
from crawl_tasks.sites.site_terms import RESERVED_NAMES
from crawl_tasks.urls import normalize, origin_of

MOST_DIRECTORIES = 3
_GENERIC = frozenset(["www", "forum", "forums", "community", "discuss", "board", "boards", "bbs", "talk", "m"])


@dataclass(frozen=True, slots=True)
class SiteAddress:
    """The address of a forum. `private` is its host:port in a private network, else empty."""

    url: str
    private: str = ""

    @property
    def base(self) -> str:
        """The origin."""
        return origin_of(self.url)

    @property
    def directory(self) -> str:
        """The path of the address's directory, without the last slash."""
        path = urlsplit(self.url).path
        return path[: path.rindex("/")]

    @property
    def directories(self) -> tuple[str, ...]:
        """The possible directories of the forum, likeliest first: for `/forum/`, `/forum` and `/forum/x.php`."""
        path = urlsplit(self.url).path
        last = path.rpartition("/")[2]
        nearest = path if last and "." not in last else self.directory
        above = [nearest[:end] for end, char in enumerate(nearest) if char == "/"]
        return (nearest, *reversed(above))[:MOST_DIRECTORIES] if nearest else ("",)

    def policy(self, user_agent: str) -> FetchPolicy:
        """Return the fetch policy of the discovery: this host, with or without www."""
        where = urlsplit(self.url)
        host = where.hostname or ""
        # Forums redirect from one of the two to the other.
        twin = host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"
        hosts = frozenset({where.netloc} if self.private else {where.netloc, host, twin})
        return FetchPolicy(
            user_agent=user_agent, allowed_hosts=hosts, origin=self.base, private_hosts=frozenset({self.private} - {""})
        )

    def name(self) -> str:
        """Suggest a name: the most specific label of the host, or `forum-PORT` on this machine."""
        where = urlsplit(self.url)
        host = where.hostname or ""
        labels = [label for label in host.split(".") if label not in _GENERIC]
        if self.private or not labels or host.replace(".", "").isdigit():
            return f"forum-{where.port or where.scheme}"
        name = re.sub(r"[^a-z0-9_-]+", "-", labels[0].lower()).strip("-_")[:32]
        return f"{name or 'forum'}-forum"[:32] if not name or name in RESERVED_NAMES else name


def place_of(address: str, private: bool = False) -> SiteAddress:
    """Return the site address of a typed text. Without a scheme https is assumed, or http for a private address.

    Raises:
        RefusedAddress: the text is no address.
    """
    written = address if "://" in address else f"{'http' if private else 'https'}://{address}"
    url = normalize(written)
    where = urlsplit(url)
    port = where.port or (443 if where.scheme == "https" else 80)
    host = f"[{where.hostname}]" if ":" in (where.hostname or "") else where.hostname
    return SiteAddress(url, f"{host}:{port}" if private else "")
