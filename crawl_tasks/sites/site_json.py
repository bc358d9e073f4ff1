"""Published sites: a `Site` as JSON for every worker. No YAML reader is imported here, for a quick start."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.schema import Site

log = logging.getLogger(__name__)


def dump_site(site: Site) -> str:
    """Return the site as JSON for other processes. Keys with default values are left out."""
    return site.model_dump_json(by_alias=True, exclude_defaults=True)


def read_site(text: str | bytes) -> Site:
    """Return the site that `dump_site` wrote. Keys that a later version added are left out.

    So workers of two versions run side by side: the older ones do without the new keys.

    Raises:
        SiteError: The text was written by an incompatible version of this program, or is damaged.
    """
    try:
        return Site.model_validate_json(text)
    except ValidationError as error:
        unknown = [
            mistake["loc"] for mistake in error.errors(include_url=False) if mistake["type"] == "extra_forbidden"
        ]
        if unknown and len(unknown) == error.error_count():
            return read_site(_without(text, unknown))
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SiteError(f"published site: {place}: {first['msg']}; publish the site files again") from None


def _without(text: str | bytes, paths: Sequence[tuple[str | int, ...]]) -> str:
    tree = json.loads(text)
    for path in paths:
        part: dict[str | int, Any] = tree
        for step in path[:-1]:
            # For a union, pydantic's path holds the name of the alternative, which the JSON lacks.
            part = part[step] if isinstance(step, int) or step in part else part
        del part[path[-1]]
    names = ", ".join(".".join(map(str, path)) for path in paths)
    log.warning("a later version's keys of a site are left out", extra={"site": tree.get("name"), "keys": names})
    return json.dumps(tree)
