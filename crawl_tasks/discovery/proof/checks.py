"""Checks of a site file by the forum's own pages: what lists say of threads, and threads of themselves.

Rules that fit one page may be wrong: a row's last author for its author, the page's own address for the next page, an
`empty` rule that fits a page with rows. Each check compares two statements of the forum that right rules read alike. A
check without enough to compare says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from crawl_tasks.discovery.proof import comment_checks, list_checks, note_checks, text_checks, thread_checks
from crawl_tasks.discovery.proof.coverage_checks import records_are_covered
from crawl_tasks.discovery.proof.date_samples import dates_are_clear
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.field_checks import fields_are_found
from crawl_tasks.discovery.proof.future_checks import no_time_is_ahead
from crawl_tasks.discovery.proof.pager_checks import list_pagers_end, thread_pagers_end
from crawl_tasks.discovery.proof.post_checks import posts_are_no_replies, posts_have_own_texts
from crawl_tasks.discovery.proof.read_pages import ReadPages, sorted_pages
from crawl_tasks.discovery.proof.site_check import SiteCheck
from crawl_tasks.sites.schema import Site

Check = Callable[[ReadPages], SiteCheck | None] | Callable[[ReadPages], Iterator[SiteCheck]]

CHECKS: Final[tuple[Check, ...]] = (
    note_checks.ids_are_own,
    note_checks.no_record_is_lost,
    note_checks.texts_fit_charset,
    note_checks.further_pages_lead_on,
    note_checks.last_texts_are_no_footers,
    fields_are_found,
    list_checks.boards_differ,
    list_checks.next_lists_differ,
    list_checks.rows_are_threads,
    list_checks.list_pagers_lead_on,
    list_checks.boards_end,
    list_checks.threads_have_one_board,
    list_pagers_end,
    list_checks.rows_lead_to_threads,
    list_checks.json_without_rows_is_empty,
    list_checks.html_without_rows_is_empty,
    list_checks.row_titles_differ,
    list_checks.row_authors_are_names,
    list_checks.row_times_are_past,
    list_checks.rows_show_news,
    list_checks.last_replies_follow_posts,
    no_time_is_ahead,
    dates_are_clear,
    thread_checks.titles_agree,
    thread_checks.titles_differ,
    thread_checks.titles_have_no_label,
    thread_checks.authors_agree,
    thread_checks.boards_agree,
    thread_checks.authors_are_names,
    thread_checks.times_agree,
    thread_checks.replies_are_read,
    thread_checks.posts_hold_no_comments,
    thread_checks.posts_are_no_titles,
    posts_have_own_texts,
    thread_checks.comments_have_order,
    posts_are_no_replies,
    comment_checks.first_replies_come_soon,
    comment_checks.edits_follow_writing,
    comment_checks.later_pages_differ,
    comment_checks.comment_authors_are_names,
    comment_checks.comments_have_ids,
    comment_checks.several_people_write,
    comment_checks.threads_have_comments,
    text_checks.posts_are_whole,
    text_checks.posts_are_no_edit_notes,
    text_checks.texts_end_without_edit_notes,
    text_checks.posts_are_no_polls,
    text_checks.texts_have_no_title,
    text_checks.comments_are_whole,
    comment_checks.comments_have_texts,
    comment_checks.comments_have_own_texts,
    text_checks.entries_are_whole,
    thread_pagers_end,
    records_are_covered,
)
"""The checks in the order in which they are shown. A check compares one statement, or one for each page or field."""


def check_trials(site: Site, trials: Sequence[DryRun]) -> list[SiteCheck]:
    """Return the checks for which the pages that were tried hold enough."""
    pages = sorted_pages(site, trials)
    return [result for check in CHECKS for result in _results(check(pages))]


def _results(checked: SiteCheck | Iterator[SiteCheck] | None) -> Iterator[SiteCheck]:
    if isinstance(checked, SiteCheck):
        yield checked
    elif checked is not None:
        yield from checked
