"""From a site file to a `Site`; once, where the files are. Errors name file, line, field and remedy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites import policy, schema, stages
from crawl_tasks.sites.published import dump_site, read_site
from crawl_tasks.sites.rules import Rule
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.yaml_tree import Tree, read_yaml

MAX_FILE_BYTES = 256 * 1024
_SUFFIXES = (".yaml", ".yml")
_SECTIONS: dict[str, type[BaseModel]] = {
    "gate": policy.Gate, "interval": policy.Interval, "order": policy.Orders, "priority": policy.Priorities,
    "guard": policy.Guards, "boards": schema.Board, "list": stages.ListSpec, "post": stages.PostSpec,
    "comment": stages.CommentSpec, "comments": stages.Records,
}  # fmt: skip


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
    try:
        return Site.model_validate(tree.value)
    except ValidationError as error:
        raise SiteError("\n".join(_complaints(error, tree))) from None


def _complaints(error: ValidationError, tree: Tree) -> Iterable[str]:
    for mistake in error.errors(include_url=False, include_input=False):
        loc = mistake["loc"]
        dotted = ".".join(str(part) for part in loc)
        message = mistake["msg"].removeprefix("Value error, ")
        if mistake["type"] == "extra_forbidden":
            message = f"is not a key here{stages.suggest(str(loc[-1]), _known_keys(loc[:-1]))}"
        elif mistake["type"] == "missing":
            message = "is missing; add it"
        if not loc:
            loc = _path_named_by(message)
        yield f"{tree.source}:{tree.line(loc)}: {f'{dotted}: ' if dotted else ''}{message}"


def _path_named_by(message: str) -> tuple[str, ...]:
    """Return the path a complaint about the whole file begins with, as `list.address: ...` does."""
    return tuple(message.partition(": ")[0].partition(" ")[0].split("."))


def _known_keys(parent: tuple[int | str, ...]) -> Iterable[str]:
    """Return the keys allowed under a path: those of the nearest section, or of a rule."""
    names = [part for part in parent if isinstance(part, str)]
    model: type[BaseModel] = _SECTIONS.get(names[-1], Rule) if names else Site
    if len(names) > 1 and names[-1] not in ("comments",):
        model = Rule
    return [info.alias or name for name, info in model.model_fields.items()]


__all__ = ["dump_site", "load_site", "load_sites", "parse_site", "read_site"]
