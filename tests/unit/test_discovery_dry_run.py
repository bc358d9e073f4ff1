"""Dry runs: what no page shows is missing, whatever other pages lead to."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.proof.checks import check_trials
from crawl_tasks.discovery.proof.dry_run import DryRun, missing_in
from crawl_tasks.model import Fetched, Items, Parsed, Request, Stage
from tests.unit.pages import ask, site_parser

BASE = "https://forum.example"


def listed(board: str, *children: Request) -> DryRun:
    request = Request("forum", Stage.LIST, board, f"{BASE}/{board}")
    return DryRun(request, Fetched(request.address, 200, {}, b"", 1.0), Parsed(Items("forum"), children, 0))


@pytest.mark.parametrize(("is_front", "missing"), [(True, 1), (False, 0)])
def test_a_front_page_that_leads_to_boards_shows_no_threads(is_front: bool, missing: int) -> None:
    board = Request("forum", Stage.LIST, "cars", f"{BASE}/cars", is_ping=is_front)

    assert len(missing_in([listed("cars"), listed("front", board)])) == missing


@pytest.mark.parametrize(
    ("notes", "is_refuted"),
    [
        ([["5 of 20 records without comment_id were left out"]], True),
        ([["1 of 4 records without comment_id were left out"]] * 2, True),
        ([["1 of 4 records without comment_id were left out"]], False),
        ([["3 of 20 records without comment_id were left out"]] * 2, False),
        ([["5 of 20 records without post_id were left out"]], False),
        ([["6 of 20 records have an id, and neither author nor time nor text (the first: '7')"]], True),
        ([["2 of 12 are read as the records beside, and `record` leaves them out (the first: '7')"]], True),
        ([["1 of 12 are read as the records beside, and `record` leaves them out"]] * 2, True),
        ([["1 of 12 are read as the records beside, and `record` leaves them out"]], False),
        ([["19 of 19 records were left out: their comment_id is that of the post ('7')"]], True),
    ],
)
def test_more_records_left_out_than_there_are_advertisements_refute_the_rules(
    notes: list[list[str]], is_refuted: bool
) -> None:
    request, page = ask(Stage.COMMENT, page=2), Fetched("https://forum.example/1", 200, {}, b"", 1.0)
    trials = [DryRun(request, page, Parsed(Items("forum"), notes=tuple(told))) for told in notes]

    refuted = [check for check in check_trials(site_parser().site, trials) if not check.holds]

    assert ("every record is read" in [check.name for check in refuted]) == is_refuted
