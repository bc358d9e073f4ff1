"""Read pages: the pages that a site file was tried on, sorted for the checks that compare what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from crawl_tasks.discovery.links.links import place_in
from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.site_check import FEW
from crawl_tasks.discovery.records.thread_page import ThreadRecords
from crawl_tasks.model import UNREADABLE, Comment, Post, Stage
from crawl_tasks.parse.document import Document, find_all
from crawl_tasks.sites.addresses import Addresses
from crawl_tasks.sites.board import LISTS
from crawl_tasks.sites.schema import Site

_NEAR = 2
"""Levels by which the places of records are compared."""


class ReadThread(NamedTuple):
    """A thread as the list shows it, and as its own pages do."""

    row: Post
    trial: DryRun
    post: Post
    comments: tuple[Comment, ...]
    gaps: int = 0
    """The places of removed comments on the page."""

    @property
    def leads_to_comments(self) -> bool:
        """Whether the page leads to comment pages."""
        parsed = self.trial.parsed
        return parsed is not None and any(child.stage is Stage.COMMENT for child in parsed.children)


@dataclass(frozen=True)
class ReadPages:
    """The pages that were tried, by their kinds. What several checks need is made once."""

    site: Site
    trials: Sequence[DryRun] = ()
    """All of them, also those that could not be read."""
    lists: Sequence[DryRun] = ()
    """The pages of boards that list threads."""
    threads: Sequence[ReadThread] = ()
    later: Sequence[DryRun] = ()
    """The comment pages behind the first page of a thread."""

    @property
    def is_proposed(self) -> bool:
        """Whether nobody wrote the rules: these have to fit nearly everywhere."""
        return self.site.engine is None

    @cached_property
    def read(self) -> list[DryRun]:
        """The pages that could be read."""
        return [trial for trial in self.trials if trial.parsed is not None]

    @cached_property
    def addresses(self) -> Addresses:
        """The addresses of the site."""
        return Addresses(self.site)

    @cached_property
    def rows(self) -> list[Post]:
        """The rows of all lists."""
        return [row for trial in self.lists for row in trial.rows if isinstance(row, Post)]

    @cached_property
    def full_boards(self) -> dict[str, set[str]]:
        """The ids of threads on the first page of each board that has a few."""
        boards = {}
        for trial in self.lists:
            ids = ids_of(trial)
            if trial.request.page == 1 and len(ids) >= FEW:
                boards[trial.request.key] = ids
        return boards

    @cached_property
    def first_lists(self) -> list[DryRun]:
        """The first pages of boards, those with rows."""
        return [trial for trial in self.lists if trial.rows and trial.request.page == 1]

    @property
    def has_further_lists(self) -> bool:
        """Whether the first page of any board leads to a second one."""
        children = [child for trial in self.first_lists if trial.parsed for child in trial.parsed.children]
        return any(child.page > 1 for child in children)

    @cached_property
    def comments(self) -> list[Comment]:
        """The comments of all pages of threads."""
        comments = [comment for thread in self.threads for comment in thread.comments]
        return comments + [row for trial in self.later for row in trial.rows if isinstance(row, Comment)]

    @cached_property
    def readable_comments(self) -> list[Comment]:
        """The comments that guests may read."""
        return [comment for comment in self.comments if comment.state not in UNREADABLE]


def sorted_pages(site: Site, trials: Sequence[DryRun]) -> ReadPages:
    """Return the pages that were tried, sorted for the checks."""
    # A front page has boards in the place of threads.
    others = {board.id for board in site.own_boards if board.kind not in LISTS}
    lists, named = list[DryRun](), list[DryRun]()
    for trial in trials:
        if trial.parsed is not None and trial.request.stage is Stage.LIST:
            (named if trial.request.key in others else lists).append(trial)
    # Feeds and hubs name threads too. What they say of them counts, unless a board says otherwise.
    rows = {row.post_id: row for trial in (*named, *lists) for row in trial.rows if isinstance(row, Post)}
    paged = [trial for trial in trials if trial.parsed is not None and trial.request.stage is Stage.COMMENT]
    # The first comments of a thread may be on a page of their own.
    apart = {trial.request.key: trial for trial in paged if trial.request.page == 1}
    threads = list(_threads(site, trials, rows, apart))
    return ReadPages(site, trials, lists, threads, [trial for trial in paged if trial.request.page > 1])


def _threads(
    site: Site, trials: Sequence[DryRun], rows: dict[str, Post], apart: dict[str, DryRun]
) -> Iterator[ReadThread]:
    """Yield the threads that have a row. `apart` are pages of comments, by their threads."""
    for trial in trials:
        row = rows.get(trial.request.key)
        if trial.request.stage is not Stage.POST or trial.parsed is None or row is None:
            continue
        comments = apart.get(trial.request.key, trial)
        if comments.parsed is None:
            continue
        for post in trial.parsed.items.posts[:1]:
            if post.state not in UNREADABLE:
                yield ReadThread(row, comments, post, comments.parsed.items.comments, _gaps_on(site, comments))


def _gaps_on(site: Site, trial: DryRun) -> int:
    """Return the number of elements beside comments, and like them, that a rule leaves out: `.post:has(time)`."""
    rules = site.post.comments or site.comment
    css = (rules.record.css or "") if rules is not None and rules.record is not None else ""
    bare = ThreadRecords(css).bare
    if site.engine is not None or trial.page is None or bare == css:
        return 0
    root = Document(trial.page).root
    records = find_all(root, css)
    around = {place_in(record)[1 : 1 + _NEAR] for record in records}
    return sum(place_in(node)[1 : 1 + _NEAR] in around for node in find_all(root, bare)) - len(records)


def ids_of(trial: DryRun) -> set[str]:
    """Return the ids of the threads on a list page."""
    return {row.post_id for row in trial.rows if isinstance(row, Post)}
