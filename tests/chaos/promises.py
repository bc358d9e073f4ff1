"""Each promise of docs/security.md is broken in a copy of the crawler, and the test that the page names must fail.

`python -m tests.chaos.promises [WORD ...]` takes those whose description holds a word, else all.
"""

from __future__ import annotations

import sys

from tests.chaos.guards import Guard, main

FETCH, WEB = "crawl_tasks/fetch", "crawl_tasks/monitor/web"


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
        "return min(max(until - (now if there is None else there), 0.0), MAX_RETRY_AFTER_S)",
        "return max(until - (now if there is None else there), 0.0)",
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
)

if __name__ == "__main__":
    sys.exit(main(PROMISES))
