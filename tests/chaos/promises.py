"""Promises of the docs, each broken in a copy of the crawler: the test that the page names must fail.

Those of docs/security.md come first, behind them some of docs/faults.md and docs/changes.md.

`python -m tests.chaos.promises [WORD ...]` takes those whose description holds a word, else all.
"""

from __future__ import annotations

import sys

from tests.chaos.guards import Guard, main

FETCH, WEB, LUA = "crawl_tasks/fetch", "crawl_tasks/web", "crawl_tasks/frontier/lua"


def _of(name: str, file: str, old: str, new: str, rests: str) -> Guard:
    return Guard(name, file, old, new, f"tests/{rests}", "failed")


PROMISES = (
    _of("no userinfo in addresses", "crawl_tasks/urls.py", 'if "@" in authority:', "if False:", "unit/test_urls.py"),
    _of(
        "only hosts of the site",
        f"{FETCH}/address_guard.py",
        "if not any_host and written not in policy.allowed_hosts and",
        "if False and",
        "unit/test_fetch_address_guard.py",
    ),
    _of(
        "a body goes along by 307 and 308 only",
        f"{FETCH}/http_status.py",
        "if status in (307, 308):",
        "if status in (302, 307, 308):",
        "unit/test_fetch_site_requests.py",
    ),
    _of(
        "a body goes to the same origin",
        f"{FETCH}/http_status.py",
        "if origin_of(target) != origin_of(http.url):",
        "if False:",
        "unit/test_fetch_site_requests.py",
    ),
    _of(
        "Retry-After in seconds is capped at a day",
        f"{FETCH}/http_status.py",
        "return min(float(text[:12]), MAX_RETRY_AFTER_S)",
        "return float(text[:12])",
        "unit/test_fetch_http_status.py",
    ),
    _of(
        "Retry-After as a date is capped at a day",
        f"{FETCH}/http_status.py",
        "return min(max(until - (now if server_now is None else server_now), 0.0), MAX_RETRY_AFTER_S)",
        "return max(until - (now if server_now is None else server_now), 0.0)",
        "unit/test_fetch_http_status.py",
    ),
    _of(
        "a bomb stops at 200 times what came",
        f"{FETCH}/body.py",
        "limit = min(limits.body_bytes, max(_HARMLESS_BYTES, _MAX_RATIO * len(wire)))",
        "limit = limits.body_bytes",
        "unit/test_fetch_body.py",
    ),
    _of(
        "no directory of a dump is a symbolic link",
        f"{FETCH}/dump_files.py",
        "os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at",
        "os.O_DIRECTORY, dir_fd=at",
        "unit/test_fetch_dump_files.py",
    ),
    _of(
        "no page of a dump is a symbolic link",
        f"{FETCH}/dump_files.py",
        "os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK",
        "os.O_RDONLY | os.O_NONBLOCK",
        "unit/test_fetch_dump_files.py",
    ),
    _of(
        "no cell of a CSV is a formula",
        "crawl_tasks/store/row_writers.py",
        "isinstance(value, str) and value.startswith(_FORMULA)",
        "False",
        "store/test_export.py",
    ),
    _of(
        "no cell of a CSV is a formula of full width",
        "crawl_tasks/store/row_writers.py",
        r'"\uff1d", "\uff0b", ',
        "",
        "store/test_export.py",
    ),
    _of(
        "files are for their user alone",
        "crawl_tasks/permissions.py",
        "    os.umask(OF_OTHERS)\n",
        "",
        "unit/test_permissions.py",
    ),
    _of(
        "forms carry a token",
        f"{WEB}/login.py",
        'return hmac.compare_digest(token.encode("utf-8", "replace"), self.token(session).encode())',
        "return True",
        "unit/test_web_pages.py",
    ),
    _of(
        "ten guesses a minute",
        f"{WEB}/login.py",
        "if len(self._wrong) >= WRONG_A_MINUTE:",
        "if False:",
        "unit/test_web_server.py",
    ),
    _of(
        "behind TLS the cookie is Secure",
        f"{WEB}/login.py",
        '("; Secure" if is_secure else "")',
        '""',
        "unit/test_web_server.py",
    ),
    _of(
        "no cookie leaves its origin",
        f"{FETCH}/cookie_jar.py",
        "jar = self._jars.get(origin_of(url))",
        'jar = self._jars.get(next(iter(self._jars), ""))',
        "unit/test_fetch_cookies.py",
    ),
    _of(
        "a robots.txt that is away for a month is as none",
        f"{FETCH}/robots.py",
        "if now - entry.tried_at > _STALE_S:",
        "if False:",
        "unit/test_fetch_robots.py",
    ),
    _of(
        "no rule repeats a repetition",
        "crawl_tasks/sites/syntax.py",
        "if _repeats_a_repetition(pattern):",
        "if False:",
        "unit/test_sites_syntax.py",
    ),
    _of(
        "a page enters no more threads than one script should",
        "crawl_tasks/parse/hub.py",
        "entered = list(revisions.items())[:MOST_LINKS]",
        "entered = list(revisions.items())",
        "unit/test_parse_hub.py",
    ),
    _of(
        "a commit with an old token is refused",
        f"{LUA}/lib/release.lua",
        "if not holder or holder == '0' or holder ~= token then return nil end",
        "if not holder or holder == '0' then return nil end",
        "frontier/test_life_of_a_request.py",
    ),
    _of(
        "a thread that came back with the same revision is asked for",
        f"{LUA}/guard/guard.lua",
        "return is_due, true",
        "return false, true",
        "frontier/test_changes_between_scans.py",
    ),
    _of(
        "nothing is leased while the store is behind",
        f"{LUA}/lib/lease.lua",
        "    or (store_is_behind() and -7)\n",
        "",
        "frontier/test_outbox.py",
    ),
    _of(
        "what was seen before a site was erased is not stored",
        "crawl_tasks/store/site_removal.py",
        "if _seen_ms(page) > ends.get((page.site, _DATA), _NEVER))",
        "if True)",
        "frontier/test_site_removal.py",
    ),
    _of(
        "pages count for the life of the site in which they were fetched",
        "crawl_tasks/store/site_removal.py",
        "if page.visits and _seen_ms(page) < until_ms:",
        "if False:",
        "frontier/test_site_removal.py",
    ),
    _of(
        "one login at a time",
        f"{LUA}/site/begin_login.lua",
        "if tonumber(v[5] or 0) > now then return {2, v[5] - now} end\n",
        "",
        "frontier/test_login.py",
    ),
)

if __name__ == "__main__":
    sys.exit(main(PROMISES))
