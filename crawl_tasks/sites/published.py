"""A `Site` as JSON, the form in which it is published to every worker; without the YAML reader, to start quickly."""

from __future__ import annotations

from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.schema import Site


def dump_site(site: Site) -> str:
    """Return the site as JSON, for other processes; keys left at their default are left out."""
    return site.model_dump_json(by_alias=True, exclude_defaults=True)


def read_site(text: str | bytes) -> Site:
    """Read what `dump_site` wrote.

    Raises:
        SiteError: It was written by another version of this program, or is damaged.
    """
    try:
        return Site.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SiteError(f"published site: {place}: {first['msg']}; publish the site files again") from None
