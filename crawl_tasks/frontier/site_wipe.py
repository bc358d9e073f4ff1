"""The wipe of a site's keys, by a removal or a recovery: in many calls, of which the last caller alone goes on."""

from __future__ import annotations

import secrets
from typing import cast

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.scripts import Scripts, Verb


def wipe(scripts: Scripts, site: str, token: str = "", *, walks: bool = False) -> None:
    """Wipe a site's keys for a recovery, or those of a removed site, and end the removal.

    Whoever began before is overtaken, but the holder of this token. One that `walks` is remembered to its end.

    Raises:
        ConfigError: another command has taken over.
    """
    # In steps, some keys at a time: one script over a large site would hold Redis up.
    token, cursor = token or secrets.token_hex(8), "0"
    while True:
        code, following = scripts.call(Verb.WIPE_SITE, site, cursor, token, int(walks))
        if code != 0:
            raise overtaken(site)
        cursor = cast(bytes, following).decode()
        if cursor == "0":
            return


def overtaken(site: str) -> ConfigError:
    """Return the error of a command that another one has taken over."""
    return ConfigError(
        f"another command has taken over the site {site!r}, and this one has ended; crawl-tasks sites list"
    )
