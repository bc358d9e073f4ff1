"""The format of what Redis holds: a number in each site's hash. Another one is refused by every process that starts."""

from __future__ import annotations

from typing import Final, cast

import redis

from crawl_tasks.errors import ConfigError
from crawl_tasks.frontier.keys import Keys

FORMAT: Final = 2
"""The format of version 0.2. It grows with a change that a version before it could not read."""

_MOST_SITES = 3


def check_format(client: redis.Redis, keys: Keys) -> None:
    """Look at a few sites of a crawl, and refuse those of another format.

    Raises:
        ConfigError: the crawl in this Redis was begun before version 0.2, or by a version with a later format.
        redis.RedisError: Redis does not answer.
    """
    names = cast("list[bytes]", client.hrandfield(keys.sites, _MOST_SITES) or [])
    for name in map(bytes.decode, names):
        version, written = cast("list[bytes | None]", client.hmget(keys.site(name), ["version", "format"]))
        # A site without a version lost its hash: `check` tells of that.
        if version is None or written == b"%d" % FORMAT:
            continue
        if written is None:
            raise ConfigError(
                f"Redis holds site {name} of a version before 0.2, which this one does not read; "
                "give this crawl another CRAWL_REDIS_PREFIX, or an empty Redis"
            )
        raise ConfigError(
            f"Redis holds site {name} in format {written.decode()}, this program knows {FORMAT}; "
            "install the version of crawl-tasks that wrote it, or a later one"
        )
