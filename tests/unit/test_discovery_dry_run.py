"""Dry runs: what no page shows is missing, whatever other pages lead to."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.dry_run import DryRun, missing_in
from crawl_tasks.model import Fetched, Items, Parsed, Request, Stage

BASE = "https://forum.example"


def listed(board: str, *children: Request) -> DryRun:
    request = Request("forum", Stage.LIST, board, f"{BASE}/{board}")
    return DryRun(request, Fetched(request.address, 200, {}, b"", 1.0), Parsed(Items("forum"), children, 0))


@pytest.mark.parametrize(("is_front", "missing"), [(True, 1), (False, 0)])
def test_a_front_page_that_leads_to_boards_shows_no_threads(is_front: bool, missing: int) -> None:
    board = Request("forum", Stage.LIST, "cars", f"{BASE}/cars", is_ping=is_front)

    assert len(missing_in([listed("cars"), listed("front", board)])) == missing
