"""The choice of published sites by name, and the remedy where a name is none."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.monitor.problems.installation_kinds import HALTED, NO_SITE

NAMED = 10
"""Sites that a message names at most. There may be a thousand."""


def chosen_sites(cells: Cells, names: tuple[str, ...]) -> dict[str, Frontier]:
    """Return the published sites that were named, or all when none was, each with the frontier of its cell.

    Raises:
        ConfigError: a named site is not published, or no site is.
        BackendError: Redis was emptied, or the cell of a site does not answer.
    """
    published = cells.sites()
    # An emptied Redis has no sites either, and "no site is published" would send the operator the wrong way.
    if not published:
        require_ledger_here(cells)
    for name in names:
        if name not in published:
            # For its error: a cell that does not answer may hold the site, or the site is moving.
            cells.of(name)
            raise ConfigError(f"site {name!r} is not published; {_remedy(name, list(published))}")
    if not published:
        raise ConfigError(NO_SITE.problem().advice())
    return {name: published[name] for name in names or published}


def _remedy(name: str, published: Sequence[str]) -> str:
    more = f" and {len(published) - NAMED} more" if len(published) > NAMED else ""
    hint = f"published are: {', '.join(published[:NAMED]) or 'none'}{more}"
    if alike := difflib.get_close_matches(name, published, n=1):
        hint = f"did you mean {alike[0]}?"
    return f"{hint}; crawl-tasks sites check publishes what is in the sites directory"


def require_ledger_here(cells: Cells) -> None:
    """Check that no cell stands still for a lost ledger, which has nothing to show.

    Raises:
        BackendError: Redis was emptied.
    """
    for frontier in cells:
        if why := Admin(frontier).restore.halted():
            raise BackendError(HALTED.problem(reason=why).advice())
