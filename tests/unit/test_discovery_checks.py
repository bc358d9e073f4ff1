"""The table of checks: each is found by its name, and says nothing without pages."""

from __future__ import annotations

import pytest

from crawl_tasks.discovery.proof import comment_checks, list_checks, thread_checks
from crawl_tasks.discovery.proof.checks import CHECKS, Check, check_trials
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages, ReadThread
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.model import Comment, Items, Parsed, Post, Request, Stage
from crawl_tasks.sites.loader import parse_site
from crawl_tasks.sites.schema import Site
from tests.unit.good_site import GOOD

SITE = parse_site(GOOD, "good.yaml")


def list_page(board: str, *rows: Post, page: int = 1, notes: tuple[str, ...] = ()) -> DryRun:
    request = Request(SITE.name, Stage.LIST, board, f"https://forum.example/{board}/{page}", page=page)
    return DryRun(request, parsed=Parsed(Items(SITE.name, posts=rows), notes=notes))


def thread(row: Post, post: Post, *comments: Comment) -> ReadThread:
    trial = DryRun(Request(SITE.name, Stage.POST, row.post_id, f"https://forum.example/{row.post_id}"))
    return ReadThread(row, trial, post, comments)


def test_no_check_stands_twice_in_the_table() -> None:
    assert len(set(CHECKS)) == len(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("engine", [None, "phpbb"])
def test_a_check_without_pages_says_nothing(check: Check, engine: str | None) -> None:
    result = check(ReadPages(SITE.model_copy(update={"engine": engine})))

    assert result is None or list(result) == []


def test_boards_with_the_same_threads_are_one_board_to_the_rules() -> None:
    rows = [Post(str(number)) for number in range(3)]
    pages = ReadPages(SITE, lists=[list_page("a", *rows), list_page("b", *rows), list_page("c", Post("9"))])

    assert list_checks.boards_differ(pages) == SiteCheck(
        "boards list different threads", False, "boards a and b do not"
    )


def test_titles_of_most_threads_that_are_no_titles_of_rows_refute_the_rules() -> None:
    threads = [thread(Post(key, title=f"Lamp {key}"), Post(key, title="Our forum")) for key in "123"]

    check = thread_checks.titles_agree(ReadPages(SITE, threads=threads))

    assert check is not None
    assert (check.holds, check.evidence) == (False, "3 of 3 fail, as 'Lamp 1' and 'Our forum'")


@pytest.mark.parametrize(("parents", "is_refuted"), [(("2", None), True), ((None, "1"), False), (("7", None), False)])
def test_a_comment_before_its_parent_refutes_the_rules(parents: tuple[str | None, ...], is_refuted: bool) -> None:
    comments = [Comment("7", str(number), parent_id=parent) for number, parent in enumerate(parents, 1)]
    pages = ReadPages(SITE, threads=[thread(Post("7"), Post("7"), *comments)])

    names = [check.name for check in thread_checks.comments_have_order(pages)]

    assert names == ["parents stand before their children"] * is_refuted


def test_ranks_in_place_of_authors_are_few_people() -> None:
    comments = [Comment("7", str(number), author="Member") for number in range(30)]
    pages = ReadPages(SITE, threads=[thread(Post("7", author="ann"), Post("7"), *comments)])

    assert comment_checks.several_people_write(pages) == SiteCheck("several people write", False, "only Member")


def of_engine(engine: str | None) -> Site:
    return SITE.model_copy(update={"engine": engine})


@pytest.mark.parametrize(("engine", "is_refuted"), [(None, True), ("phpbb", False)])
def test_a_row_that_is_left_out_refutes_the_rules_that_nobody_wrote(engine: str | None, is_refuted: bool) -> None:
    page = list_page("a", Post("1"), notes=("1 of 2 rows was left out: it has no id",))

    names = [check.name for check in check_trials(of_engine(engine), [page]) if not check.holds]

    assert ("every row is a thread" in names) is is_refuted
