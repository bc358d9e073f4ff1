"""From a site file, and the preset it names, to a `Site`; once, where the files are. Errors name file, line, remedy."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.complaints import site_complaints
from crawl_tasks.sites.presets import laid_over
from crawl_tasks.sites.published import dump_site, read_site
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.yaml_tree import read_yaml

MAX_FILE_BYTES = 256 * 1024
_SUFFIXES = (".yaml", ".yml")


def load_site(path: str | os.PathLike[str]) -> Site:
    """Read and check one site file.

    Raises:
        SiteError: It cannot be read, or is wrong; the message lists every mistake, one a line.
    """
    source = os.fspath(path)
    try:
        with Path(source).open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SiteError(f"{source}: cannot be read: {error.strerror}; check the path and its permissions") from None
    if len(raw) > MAX_FILE_BYTES:
        raise SiteError(f"{source}: is larger than {MAX_FILE_BYTES // 1024} KB; a site file is a few pages of text")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SiteError(f"{source}: is not UTF-8 at byte {error.start}; save it as UTF-8") from None
    return parse_site(text, source)


def load_sites(directory: str | os.PathLike[str]) -> dict[str, Site]:
    """Read every `*.yaml` of a directory, by site name.

    Raises:
        SiteError: One is wrong, or two have the same name.
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
    """Check the text of a site file; `source` names it in errors.

    Raises:
        SiteError: It is wrong.
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


__all__ = ["dump_site", "load_site", "load_sites", "parse_site", "read_site"]
