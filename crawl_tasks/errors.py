"""Every error of ours, and the fate each means for the request that met it.

CrawlError
├── ConfigError                  a person must mend a file or a setting          (exit code 2)
│   ├── SettingsError
│   └── SiteError                carries file, line and field
├── BackendError                 Redis or the database does not do its part      (exit code 3)
│   ├── RedisUnreachable
│   └── StoreError
│       └── Unstorable           these items are what the database refuses; they are laid aside
└── PageError                    one request failed; `fate` says what follows
    ├── FetchError
    │   ├── Unreachable          retry   refused, reset, DNS, TLS
    │   ├── DeadlineExceeded     retry   the whole attempt took too long
    │   ├── Truncated            retry   fewer bytes than promised, a cut gzip stream
    │   ├── ServerError          retry   5xx
    │   ├── SlowDown             retry   429, or 503 with Retry-After; the gate slows the site down
    │   ├── NoTurn               retry   nothing was sent: the site rests by now, or the lease was lost
    │   ├── Gone                 gone    404, 410: an answer, not a failure
    │   ├── AccessDenied         park    401, 403, 407, 451, a login wall
    │   ├── Challenged           park    a captcha, or another wall against robots, in the place of the page
    │   ├── RobotsUnavailable    retry   robots.txt answers 5xx or not at all: disallowed for now (RFC 9309, 2.3.1.4)
    │   ├── RobotsRefused        bury    robots.txt disallows the address
    │   │   └── RedirectRefused  bury    it allows the address, but not where that redirects to; a later page: gone
    │   ├── BadStatus            bury    any other status we cannot use
    │   ├── BadRedirect          bury    no or bad Location, too many hops
    │   ├── TooLarge             bury    over the limit on wire or decoded bytes
    │   ├── RefusedAddress       bury    scheme, port, private network: not an address we go to
    │   └── Undecodable          bury    a content encoding or type we do not read
    ├── ParseError               park    the page is not what the site file says; waits for a mended rule
    └── Crashed                  park    our code or a site's own function failed; waits until it is mended
"""

from __future__ import annotations

from enum import StrEnum


class Fate(StrEnum):
    """What becomes of a request after a failed attempt."""

    RETRY = "retry"
    PARK = "park"
    BURY = "bury"
    GONE = "gone"


class CrawlError(Exception):
    """Something of the crawl went wrong."""

    exit_code = 1


class ConfigError(CrawlError):
    """The configuration is wrong."""

    exit_code = 2


class SettingsError(ConfigError):
    """A setting is wrong."""


class SiteError(ConfigError):
    """A site file is wrong: `file:line: field: what is wrong; what to do`."""


class BackendError(CrawlError):
    """A server we stand on does not answer as it must."""

    exit_code = 3


class RedisUnreachable(BackendError):
    """Redis cannot be reached."""


class StoreError(BackendError):
    """The database cannot be written or read."""


class Unstorable(StoreError):
    """The database refuses a batch for the values in it, however it fares itself."""


class PageError(CrawlError):
    """A request failed. `reason` is a short slug for counters and dead letters; str() has the details.

    `status` is that of the answer, 0 when there was none. `says_nothing` is true where a page came that is not one of
    those the site file describes: many of them in a row shut the stage (lua/_breaker.lua). `rests_site` lets the whole
    site wait once, `slows_site` makes it be asked more slowly from now on (lua/_pace.lua).
    """

    fate = Fate.RETRY
    reason = "page"
    retry_after_s: float | None = None
    status = 0
    rests_site = False
    slows_site = False
    says_nothing = False


class FetchError(PageError):
    """The page could not be fetched."""

    reason = "fetch"


class Unreachable(FetchError):
    """The host cannot be reached."""

    reason = "unreachable"
    rests_site = True
    slows_site = True


class DeadlineExceeded(FetchError):
    """The attempt took longer than it may."""

    reason = "deadline"
    slows_site = True


class Truncated(FetchError):
    """The body ended early."""

    reason = "truncated"


class ServerError(FetchError):
    """The server failed. `is_busy` says that it is one that has too much to do, not one that stumbled over a page."""

    reason = "server_error"

    def __init__(self, message: str, *, is_busy: bool = False) -> None:
        super().__init__(message)
        self.slows_site = is_busy


class SlowDown(FetchError):
    """The server asks for patience."""

    reason = "slow_down"
    rests_site = True
    slows_site = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class NoTurn(FetchError):
    """Nothing was sent: the gate has no turn for it."""

    reason = "no_turn"


class Gone(FetchError):
    """The page does not exist (any more)."""

    fate = Fate.GONE
    reason = "gone"


class AccessDenied(FetchError):
    """The server wants credentials we do not have."""

    fate = Fate.PARK
    reason = "access_denied"
    says_nothing = True


class Challenged(FetchError):
    """A wall against robots stands in the place of the page."""

    fate = Fate.PARK
    reason = "challenge"
    says_nothing = True


class RobotsUnavailable(FetchError):
    """robots.txt cannot be had, so nothing is allowed for now."""

    reason = "robots_unavailable"
    rests_site = True
    slows_site = True


class RobotsRefused(FetchError):
    """robots.txt does not allow this address."""

    fate = Fate.BURY
    reason = "robots"


class RedirectRefused(RobotsRefused):
    """robots.txt allows this address, but not the one it redirects to.

    Of a later page of a board or thread this says that there is no such page: the forum sends us elsewhere.
    """

    reason = "robots_redirect"


class BadStatus(FetchError):
    """The server answered with a status we cannot use."""

    fate = Fate.BURY
    reason = "status"


class BadRedirect(FetchError):
    """The redirect leads nowhere."""

    fate = Fate.BURY
    reason = "redirect"


class TooLarge(FetchError):
    """The response is larger than the limit."""

    fate = Fate.BURY
    reason = "too_large"


class RefusedAddress(FetchError):
    """We do not go to this address."""

    fate = Fate.BURY
    reason = "refused_address"


class Undecodable(FetchError):
    """The body is in a form we do not read."""

    fate = Fate.BURY
    reason = "undecodable"


class ParseError(PageError):
    """The page is not what the site file says."""

    fate = Fate.PARK
    reason = "parse"
    says_nothing = True


class Crashed(PageError):
    """Our code or a site's own function failed on this page; the request waits until it is mended."""

    fate = Fate.PARK
    reason = "crash"
    says_nothing = True
