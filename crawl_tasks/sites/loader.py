"""The site file loader: from a file, and its preset, to a `Site`. Errors name file, line and remedy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from crawl_tasks.errors import SiteError
from crawl_tasks.sites.board_list import BoardList, check_ids, load_board_list, text_of
from crawl_tasks.sites.board_pack import joined, pack
from crawl_tasks.sites.presets import laid_over
from crawl_tasks.sites.rule_keys import ignored_keys
from crawl_tasks.sites.schema import Site
from crawl_tasks.sites.validation_errors import complaint_at, complaints
from crawl_tasks.sites.yaml_tree import Tree, Value, read_yaml

MAX_FILE_BYTES = 256 * 1024
_OURS = frozenset({"named_boards", "board_list"})
"""Keys of the published site that no file has."""


def load_site(path: str | os.PathLike[str]) -> Site:
    """Return the site of one file.

    Raises:
        SiteError: The file cannot be read, or is wrong. The message lists every mistake, one per line.
    """
    source = os.fspath(path)
    too_large = f"{MAX_FILE_BYTES // 1024} KB; a site file is a few pages of text"
    text = text_of(Path(source), source, MAX_FILE_BYTES, too_large, "check the path and its permissions")
    return parse_site(text, source)


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
    for key in _OURS & value.keys():
        raise SiteError(f"{source}:{tree.line((key,))}: {key}: is not a key here; give boards")
    lists = _board_lists(value, tree)
    try:
        site = Site.model_validate(value)
    except ValidationError as error:
        raise SiteError("\n".join(complaints(error, trees, Site))) from None
    if ignored := [complaint_at(path, text, trees) for path, text in ignored_keys(site)]:
        raise SiteError("\n".join(ignored))
    return _with_lists(site, lists) if lists else site


def _board_lists(value: dict[str, Value], tree: Tree) -> list[BoardList]:
    """Take the entries `{file: ...}` out of the boards, and return their lists.

    Raises:
        SiteError: A list cannot be read, or is wrong.
    """
    boards = value.get("boards")
    entries = boards if isinstance(boards, list) else []
    if isinstance(boards, dict):
        entries = [boards]
    files = [entry for entry in entries if isinstance(entry, dict) and "file" in entry]
    if not files:
        return []
    value["boards"] = [entry for entry in entries if entry not in files]
    lists = []
    for entry in files:
        place = f"{tree.source}:{tree.line(('boards',) if entry is boards else ('boards', entries.index(entry)))}"
        name = entry["file"]
        if (
            len(entry) > 1
            or not isinstance(name, str)
            or not name
            or Path(name).is_absolute()
            or ".." in Path(name).parts
        ):
            raise SiteError(f"{place}: boards: is no {{file: NAME}}, with NAME a file beside this one or below")
        path = Path(tree.source).parent / name
        lists.append(load_board_list(path, str(path)))
    return lists


def _with_lists(site: Site, lists: Sequence[BoardList]) -> Site:
    """Return a site with the boards of its lists.

    Raises:
        SiteError: A board appears twice, or makes no address.
    """
    ids = [board.id for board in site.named_boards]
    for board_list in lists:
        ids += board_list.ids
        check_ids(ids, board_list)
        addresses = board_list.columns.get("address", [None] * len(board_list.ids))
        if site.list.address is None and site.list.first_address is None and not all(addresses):
            place = [bool(address) for address in addresses].index(False)
            raise board_list.complaint(place, "makes no address; give list.address, or each board's own")
    columns = lists[0].columns if len(lists) == 1 else joined([board_list.columns for board_list in lists])
    return site.model_copy(update={"board_list": pack(columns)})
