"""Comment checks: what comments say of their threads and of each other, on first pages and on later ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck, mostly, names_check
from crawl_tasks.model import Comment, Post
from crawl_tasks.parse.date_checks import LATE_S, early_edits, waited_s
from crawl_tasks.sites.field_rules import As, kind_of
from crawl_tasks.sites.schema import Site

_MANY: Final = 24
"""Comments that a few ranks, as `Member` and `Admin`, may have for authors, but hardly as few people."""


def first_replies_come_soon(pages: ReadPages) -> SiteCheck | None:
    """Return whether the first reply of a thread comes within a year."""
    waits = []
    for thread in pages.threads:
        # Of a thread of several pages the newest replies may come first.
        if thread.trial.parsed and not thread.trial.parsed.children:
            waits.append(waited_s(thread.post, thread.comments))
    verdicts = [wait_s <= LATE_S for wait_s in waits if wait_s is not None]
    return mostly("first replies come within a year of their posts", verdicts) if len(verdicts) >= FEW else None


def edits_follow_writing(pages: ReadPages) -> SiteCheck | None:
    """Return whether nothing was edited before it was written."""
    early = [is_early for thread in pages.threads for is_early in early_edits((thread.post, *thread.comments))]
    return mostly("edits come after the writing", [not is_early for is_early in early])


def later_pages_differ(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield whether each later page of a thread has comments that the first one has not, and not the post."""
    comments = {thread.row.post_id: {row.comment_id for row in thread.comments} for thread in pages.threads}
    posts = {thread.row.post_id: thread.post for thread in pages.threads}
    for trial in pages.later:
        rows = [row for row in trial.rows if isinstance(row, Comment)]
        ids = {row.comment_id for row in rows}
        known = len(ids & comments.get(trial.request.key, set()))
        if len(ids) >= FEW:
            evidence = f"{known} of {len(ids)} stand on the page before" if known else ""
            yield SiteCheck("the next page of a thread has further comments", 2 * known < len(ids), evidence)
        if pages.is_proposed and _repeats(trial, posts.get(trial.request.key)):
            evidence = f"{trial.request.address} begins with the post"
            yield SiteCheck("a post is none of its comments", False, evidence)


def _repeats(trial: DryRun, post: Post | None) -> bool:
    """Return whether a comment page has a post among its comments."""
    if post is None or not post.body:
        return False
    return any((row.body, row.author) == (post.body, post.author) for row in trial.rows if isinstance(row, Comment))


def comment_authors_are_names(pages: ReadPages) -> SiteCheck | None:
    """Return whether authors of comments are names."""
    return names_check("authors of comments are names", [(row.author, row.body) for row in pages.comments])


def comments_have_ids(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of proposed rules that tell the comments of several pages apart by their texts."""
    if not pages.is_proposed or not pages.later or not _are_told_by_texts(pages.site):
        return None
    evidence = "what an author says twice, on two pages of a thread, would be one comment"
    return SiteCheck("comments have ids, or times that stand still", False, evidence)


def _are_told_by_texts(site: Site) -> bool:
    """Return whether ids of comments are made of fields without a moment among them."""
    spec = site.comment or site.post.comments
    if spec is None or "comment_id" in spec.fields:
        return False
    return not any(kind_of(name, spec.fields[name]) is As.DATE for name in spec.id_of)


def several_people_write(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of proposed rules by which many comments have few authors."""
    people = {comment.author for comment in pages.comments if comment.author}
    if not pages.is_proposed or len(pages.comments) < _MANY or not 0 < len(people) <= FEW:
        return None
    # A list that names them as well shows that they are people, and no ranks.
    if any(thread.row.author in people for thread in pages.threads):
        return None
    return SiteCheck("several people write", False, f"only {', '.join(sorted(people))}")


def threads_have_comments(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation of proposed rules that read no comment anywhere."""
    if not pages.is_proposed or len(pages.threads) < FEW or pages.comments:
        return None
    return SiteCheck("threads have comments", False, f"none was read in {len(pages.threads)} threads")


def comments_have_texts(pages: ReadPages) -> SiteCheck | None:
    """Return whether most comments have a text."""
    rows = pages.readable_comments
    return (
        mostly("comments have texts", [bool(row.body or row.body_html) for row in rows]) if len(rows) >= FEW else None
    )


def comments_have_own_texts(pages: ReadPages) -> SiteCheck | None:
    """Return whether texts of comments differ."""
    rows = pages.readable_comments
    bodies = Counter(row.body for row in rows if row.body)
    if len(rows) < FEW or not bodies:
        return None
    text, times = bodies.most_common(1)[0]
    evidence = f"{times} of {len(rows)} are {text[:60]!r}" if times >= FEW else ""
    return SiteCheck("comments have texts of their own", 2 * times < len(rows) or times < FEW, evidence)
