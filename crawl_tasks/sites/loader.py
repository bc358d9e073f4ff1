"""The site file loader: from a file, and its preset, to a `Site`. Errors name file, line and remedy."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.presets import laid_over
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.validation_errors import site_complaints
from crawl_tasks.sites.yaml_tree import read_yaml

MAX_FILE_BYTES = 256 * 1024
_SUFFIXES = (".yaml", ".yml")


def load_site(path: str | os.PathLike[str]) -> Site:
    """Return the site of one file.

    Raises:
        SiteError: The file cannot be read, or is wrong. The message lists every mistake, one per line.
    """
    source = os.fspath(path)
    try:
        with Path(source).open("rb") as file:
            # One byte beyond the limit shows that a file is too large, without reading all of it.
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SiteError(f"{source}: cannot be read: {error.strerror}; check the path and its permissions") from None
    if len(raw) > MAX_FILE_BYTES:
        raise SiteError(f"{source}: is larger than {MAX_FILE_BYTES // 1024} KB; a site file is a few pages of text")
    try:
        # Some editors begin UTF-8 files with a BOM.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SiteError(f"{source}: is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    return parse_site(text, source)


def load_sites(directory: str | os.PathLike[str]) -> dict[str, Site]:
    """Return the sites of all `*.yaml` and `*.yml` files of a directory, by site name.

    Raises:
        SiteError: A file is wrong, or two sites have the same name.
    """
    try:
        paths = sorted(path for path in Path(directory).iterdir() if path.suffix in _SUFFIXES and path.is_file())
    except OSError as error:
        raise SiteError(f"{os.fspath(directory)}: cannot be read: {error.strerror}; check the path") from None
    found: dict[str, tuple[Site, Path]] = {}
    for path in paths:
        site = load_site(path)
        if site.name in found:
            raise SiteError(f"{path}: name: {site.name!r} is already {found[site.name][1]}; rename one of them")
        found[site.name] = (site, path)
    return {name: site for name, (site, _) in found.items()}


def parse_site(text: str, source: str) -> Site:
    """Return the site in a text. `source` names the text in errors.

    Raises:
        SiteError: The text is wrong.
    """
    tree = read_yaml(text, source)
    if not isinstance(tree.value, dict):
        raise SiteError(f"{source}:1: is {'empty' if tree.value is None else 'no mapping'}; begin with `name: ...`")
    value, trees = tree.value, [tree]
    preset = value.get("engine")
    if isinstance(preset, str):
        try:
            value, below = laid_over(preset, value)
        except SiteError as error:
            raise SiteError(f"{source}:{tree.line(('engine',))}: engine: {error}") from None
        trees.append(below)
    try:
        return Site.model_validate(value)
    except ValidationError as error:
        raise SiteError(site_complaints(error, trees)) from None
