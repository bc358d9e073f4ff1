"""The exception hierarchy: every error of the crawler, and the fate of the request that failed with it.

CrawlError
├── ConfigError                  a person must mend a file or a setting          (exit code 2)
│   ├── SettingsError
│   └── SiteError                carries file, line and field
├── BackendError                 Redis or the database does not do its part      (exit code 3)
│   ├── RedisUnreachable
│   └── StoreError
│       └── DataRejected           the database refuses these items, which are laid aside
├── TaskFailed                   how Celery learns that a page failed for good
└── PageError                    one request failed, `fate` decides on it
    ├── FetchError
    │   ├── Unreachable          retry   refused, reset, DNS, TLS
    │   ├── DeadlineExceeded     retry   the whole attempt took too long
    │   ├── Truncated            retry   fewer bytes than promised, a cut gzip stream
    │   ├── ServerError          retry   other 5xx
    │   ├── SlowDown             retry   429, 503: the site refuses requests for now
    │   ├── BrowserFailed        retry   the browser ended, or ended this page
    │   ├── NoTurn               retry   nothing was sent: the site rests, or the lease was lost
    │   ├── Gone                 gone    404, 410: an answer, not a failure
    │   ├── AllGone              retry   404, 410 of all pages in a row: the forum is away for now
    │   ├── AccessDenied         park    401, 403, 407, 451, a login wall
    │   ├── GuestPage            retry   a page that may be a guest's, of a session that shows both
    │   ├── LoginRefused         retry   the forum does not take our login, or no login is left today
    │   ├── Challenged           park    a captcha, or another wall against robots, in the place of the page
    │   ├── RobotsUnavailable    retry   robots.txt answers 5xx or not at all: disallowed for now (RFC 9309, 2.3.1.4)
    │   ├── RobotsRefused        bury    robots.txt disallows the address
    │   │   └── RedirectRefused  bury    robots.txt disallows the target of a redirect (of a later page: gone)
    │   ├── BadStatus            bury    any other status we cannot use
    │   ├── BadRedirect          bury    no or bad Location, too many hops
    │   ├── TooLarge             bury    over the limit on wire or decoded bytes
    │   ├── RefusedAddress       bury    scheme, port, private network: not an address we go to
    │   └── BadEncoding          bury    a content encoding or type we do not read
    ├── ArchiveFailed            retry   the site's archive cannot be written: nothing is fetched for now
    ├── ParseError               park    the page does not match the site file, and waits for a mended rule
    ├── Hung                     park    the work on the page did not end within its lease
    └── Crashed                  park    our code or a site's function failed, and waits for a mended one
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Fate(StrEnum):
    """The next state of a request after a failed attempt."""

    RETRY = "retry"
    PARK = "park"
    BURY = "bury"
    GONE = "gone"


class Scope(StrEnum):
    """The scope of a failure: a page, whose attempts it counts for, a site that refuses for now, or nothing sent."""

    PAGE = "page"
    SITE = "site"
    NOTHING = "nothing"


class CrawlError(Exception):
    """The base of all errors of the crawler."""

    exit_code = 1


class ConfigError(CrawlError):
    """The configuration is wrong."""

    exit_code = 2


class SettingsError(ConfigError):
    """A setting is wrong."""


class SiteError(ConfigError):
    """A site file is wrong. The message names file, line, field, mistake and remedy."""


class BackendError(CrawlError):
    """A server that the crawler needs does not answer as expected."""

    exit_code = 3


class RedisUnreachable(BackendError):
    """Redis cannot be reached."""


class StoreError(BackendError):
    """The database cannot be written or read."""


class NoTables(StoreError):
    """The database is well and has none of our tables yet."""


class DataRejected(StoreError):
    """The database refuses a batch because of the values there, not because of its own state."""


class TaskFailed(CrawlError):
    """A task ended without its page. The ledger has the failure already, and Celery shows it."""


class PageError(CrawlError):
    """A request failed. `reason` is a slug for counters and dead letters, `status` and `headers` are the answer's.

    `says_nothing` is true for a page that the site file does not describe: many in a row open the stage's circuit
    breaker (circuit_breaker.lua). `rests_site` makes the site wait once, `slows_site` makes its requests slower from
    now on (lib/backoff.lua), both only where other pages fail too (lib/failures.lua). A class with `slows_site` counts
    as a sign of strain there, whatever one error of it says. A class whose `scope` is the site, without `slows_site`,
    says nothing of its page.
    """

    fate = Fate.RETRY
    scope = Scope.PAGE
    reason = "page"
    retry_after_s: float | None = None
    status = 0
    headers: Mapping[str, str] = MappingProxyType({})
    rests_site = slows_site = says_nothing = False
    is_behind_login = False
    """Whether the page was asked for as a member."""


class FetchError(PageError):
    """The page could not be fetched."""

    reason = "fetch"


class Unreachable(FetchError):
    """The host cannot be reached."""

    reason = "unreachable"
    rests_site = slows_site = True


class DeadlineExceeded(FetchError):
    """The attempt exceeded its time limit."""

    reason = "deadline"
    slows_site = True


class Truncated(FetchError):
    """The body ended early."""

    reason = "truncated"


class ServerError(FetchError):
    """The server failed: overloaded where `is_busy`, else on this page."""

    reason = "server_error"
    slows_site = True

    def __init__(self, message: str, *, is_busy: bool = False) -> None:
        super().__init__(message)
        self.slows_site = is_busy


class SlowDown(FetchError):
    """The server refuses requests for now: 429, 503."""

    scope = Scope.SITE
    reason = "slow_down"
    rests_site = slows_site = True

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BrowserFailed(FetchError):
    """The browser that draws a page ended, or ended this page."""

    reason = "browser"


class NoTurn(FetchError):
    """Nothing was sent: the site rests, or the lease was lost."""

    scope = Scope.NOTHING
    reason = "no_turn"


class Gone(FetchError):
    """The page does not exist, or no longer exists."""

    fate = Fate.GONE
    reason = "gone"


class AllGone(FetchError):
    """A page that a list shows does not exist, nor did the pages before it: the forum is away for now."""

    scope = Scope.SITE
    reason = "all_gone"
    rests_site = True


class AccessDenied(FetchError):
    """The server wants credentials that the crawler lacks."""

    fate = Fate.PARK
    reason = "access_denied"
    says_nothing = True


class TruncatedThread(FetchError):
    """The thread shows less than half of the replies that its list counts."""

    reason = "truncated_thread"


class GuestPage(FetchError):
    """The page may be a guest's: the session shows members' and guests' pages in turn."""

    reason = "guest_page"


class LoginRefused(FetchError):
    """The forum does not take the login of the site file, or no login is left today."""

    scope = Scope.SITE
    reason = "login"
    rests_site = True


class Challenged(FetchError):
    """A captcha or another bot wall is in the place of the page."""

    fate = Fate.PARK
    reason = "challenge"
    says_nothing = True


class RobotsUnavailable(FetchError):
    """robots.txt cannot be fetched, so nothing is allowed for now (RFC 9309, 2.3.1.4)."""

    scope = Scope.SITE
    reason = "robots_unavailable"
    rests_site = slows_site = True


class RobotsRefused(FetchError):
    """robots.txt does not allow this address."""

    fate = Fate.BURY
    reason = "robots"


class RedirectRefused(RobotsRefused):
    """robots.txt forbids the target of a redirect, which for a later page of a board means that there is none."""

    reason = "robots_redirect"


class BadStatus(FetchError):
    """The server answered with a status that the crawler cannot use."""

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
    """The crawler does not go to this address."""

    fate = Fate.BURY
    reason = "refused_address"


class BadEncoding(FetchError):
    """The body has a content encoding or type that the crawler does not read."""

    fate = Fate.BURY
    reason = "undecodable"


class ArchiveFailed(PageError):
    """The archive of the site cannot be written. No page counts without its record there, so nothing is fetched."""

    scope = Scope.NOTHING
    reason = "archive"
    retry_after_s = 30.0


class ParseError(PageError):
    """The page does not match the site file."""

    fate = Fate.PARK
    reason = "parse"
    says_nothing = True


class Hung(PageError):
    """The work on the page did not end within its lease. The request waits until the site's function is mended."""

    fate = Fate.PARK
    reason = "hung"
    says_nothing = True


class Crashed(PageError):
    """Our code or a site's own function failed on this page. The request waits until the code is mended."""

    fate = Fate.PARK
    reason = "crash"
    says_nothing = True
