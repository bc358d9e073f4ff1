"""Checks of a site file by its thread pages: what lists say of threads, and threads of themselves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.proof.dry_run import DryRun
from crawl_tasks.discovery.proof.post_checks import own_texts_check, post_again_check
from crawl_tasks.discovery.proof.site_check import FEW, FUTURE_S, SiteCheck, mostly, names_check
from crawl_tasks.discovery.records.boilerplate import is_edit_note
from crawl_tasks.discovery.records.slot_texts import is_of_author
from crawl_tasks.discovery.text.timestamps import moment_of
from crawl_tasks.model import UNREADABLE, Comment, Post, Stage
from crawl_tasks.parse.date_checks import LATE_S, early_edits, waited_s
from crawl_tasks.parse.values.text import letters
from crawl_tasks.sites.field_rules import As, kind_of
from crawl_tasks.sites.schema import Site

LONGEST_NAME: Final = 40
"""A text above this length is no chance where it stands in another one."""

LONGEST_LABEL: Final = 16
"""Buttons below a text have fewer letters."""

_SHARES: Final = re.compile(r"\d ?%\s*$", re.MULTILINE)
_MANY: Final = 24
"""Comments that a few ranks, as `Member` and `Admin`, may have for authors, but hardly as few people."""

APART_S: Final = 2 * 86_400
"""The most by which a list and a thread may differ in the time of a post: lists often show days."""


class ReadThread(NamedTuple):
    """A thread as the list shows it, and as its own pages do."""

    row: Post
    trial: DryRun
    post: Post
    comments: tuple[Comment, ...]
    gaps: int = 0
    """The places of removed comments on the page."""


def thread_checks(site: Site, threads: Sequence[ReadThread]) -> Iterator[SiteCheck | None]:
    """Yield checks of threads by their rows."""
    titles = [(one.row.title, one.post.title) for one in threads if one.row.title and one.post.title]
    differs = next((f", as {row!r:.60} and {page!r:.60}" for row, page in titles if not _alike(row, page)), "")
    # A reply may have come or gone meanwhile. Rules that nobody wrote have to fit nearly everywhere.
    most = 0.5 if site.engine else 0.2
    yield mostly("a thread has the title of its row", [_alike(row, page) for row, page in titles], differs, most)
    if site.engine is None:
        said = [one.post.title for one in threads if one.post.title]
        title, often = Counter(said).most_common(1)[0] if len(said) >= FEW else ("", 0)
        if 2 * often > len(said) and often >= FEW:
            yield SiteCheck("titles of threads differ", False, f"{often} of {len(said)} are {title[:60]!r}")
        labels = [label for row, page in titles if (label := _label(row, page))]
        yield SiteCheck("titles of threads are without a label", False, repr(labels[0])) if len(labels) >= FEW else None
    authors = [(one.row.author, one.post.author) for one in threads if one.row.author and one.post.author]
    differs = next((f", as {row!r:.60} and {page!r:.60}" for row, page in authors if row != page), "")
    yield mostly("a thread has the author of its row", [row == page for row, page in authors], differs)
    boards = [(one.row.forum_id, one.post.forum_id) for one in threads if one.row.forum_id and one.post.forum_id]
    # Some programs list a thread on two boards.
    yield mostly("a thread's page names the board that lists it", [row == page for row, page in boards])
    yield names_check("authors of threads are names", [(one.post.author, one.post.title) for one in threads])
    times = [(one.row.created_at, one.post.created_at) for one in threads]
    pairs = [(row, page) for row, page in times if row is not None and page is not None]
    yield mostly("a thread began when its row says", [abs(row - page) <= APART_S for row, page in pairs])
    counted = [(one, one.row.reply_count) for one in threads if one.row.reply_count is not None]
    verdicts = [_fits(one, count) for one, count in counted]
    unfit, count = counted[verdicts.index(False)] if False in verdicts else (None, 0)
    example = f", as {unfit.trial.request.address}: {count} in the list, {len(unfit.comments)} read" if unfit else ""
    yield mostly("threads have the replies that lists count", verdicts, example, most)
    bodies = [one.post.body for one in threads if one.post.body]
    mixed = sum(any(len(text := comment.body or "") > LONGEST_NAME and text in (one.post.body or "")
                    for comment in one.comments) for one in threads)  # fmt: skip
    if any(one.comments for one in threads):
        text = f"{mixed} of {len(threads)} fail" if mixed else ""
        yield SiteCheck("a post's text is without its comments", not mixed, text)
    yield mostly(
        "a post's text is not its title", [one.post.body != one.post.title for one in threads if one.post.body]
    )
    yield own_texts_check(bodies)


def _alike(row: str, page: str) -> bool:
    """Return whether two titles may be the same one: lists cut titles, and pages add the forum's name."""
    one, other = letters(row), letters(page)
    return bool(one) and bool(other) and (one in other or other in one)


def _label(row: str, page: str) -> str:
    """Return the letters that a page has around the title of a row, which may be cut."""
    start = row.removesuffix("…").removesuffix("...")
    before, found, after = page.partition(start)
    return (letters(before) or letters(after if start == row else "")) if found else ""


def _fits(thread: ReadThread, count: int) -> bool:
    """Return whether the comments read may be all of the replies counted. One may have come or gone meanwhile."""
    read = len(thread.comments)
    parsed = thread.trial.parsed
    if parsed is not None and any(child.stage is Stage.COMMENT for child in parsed.children):
        return 0 < read <= count + 1
    return 0 <= count - read <= thread.gaps or abs(read - count) <= (count > 2 * FEW)


def comment_checks(site: Site, threads: Sequence[ReadThread], paged: Sequence[DryRun]) -> Iterator[SiteCheck | None]:
    """Yield checks of comments, on the first pages of threads and on later ones."""
    for thread in threads:
        yield from _of_thread_comments(thread)
    yield post_again_check([(one.post, one.comments[0]) for one in threads if one.comments], ZoneInfo(site.timezone))
    # Of a thread of several pages the newest replies may come first.
    of_one_page = [one for one in threads if one.trial.parsed and not one.trial.parsed.children]
    waits = [wait_s for one in of_one_page if (wait_s := waited_s(one.post, one.comments)) is not None]
    if len(waits) >= FEW:
        yield mostly("first replies come within a year of their posts", [wait_s <= LATE_S for wait_s in waits])
    early = [is_early for one in threads for is_early in early_edits((one.post, *one.comments))]
    yield mostly("edits come after the writing", [not is_early for is_early in early])
    first = {one.row.post_id: {comment.comment_id for comment in one.comments} for one in threads}
    posts = {one.row.post_id: [one.post] for one in threads}
    for one in paged:
        ids = {row.comment_id for row in one.rows if isinstance(row, Comment)}
        known = len(ids & first.get(one.request.key, set()))
        if len(ids) >= FEW:
            text = f"{known} of {len(ids)} stand on the page before" if known else ""
            yield SiteCheck("the next page of a thread has further comments", 2 * known < len(ids), text)
        again = [
            post
            for post in posts.get(one.request.key, ())
            for row in one.rows
            if isinstance(row, Comment)
            if post.body and (post.body, post.author) == (row.body, row.author)
        ]
        if again and site.engine is None:
            yield SiteCheck("a post is none of its comments", False, f"{one.request.address} begins with the post")
    comments = [comment for one in threads for comment in one.comments]
    comments += [row for one in paged for row in one.rows if isinstance(row, Comment)]
    yield names_check("authors of comments are names", [(one.author, one.body) for one in comments])
    whole = [one for one in comments if one.state not in UNREADABLE]
    if site.engine is None:
        if paged and _are_told_by_texts(site):
            text = "what an author says twice, on two pages of a thread, would be one comment"
            yield SiteCheck("comments have ids, or times that stand still", False, text)
        people = {one.author for one in comments if one.author}
        # A list that names them as well shows that they are people, and no ranks.
        is_listed = any(one.row.author in people for one in threads)
        if len(comments) >= _MANY and 0 < len(people) <= FEW and not is_listed:
            yield SiteCheck("several people write", False, f"only {', '.join(sorted(people))}")
        if len(threads) >= FEW and not comments:
            yield SiteCheck("threads have comments", False, f"none was read in {len(threads)} threads")
        # The store has what either page shows.
        said = [
            (post.author or row.author, post.created_at or row.created_at, _text_of(post))
            for row, _, post, *_ in threads
        ]
        yield from record_checks("posts", said)
        yield from _of_texts(threads, [text for *_, text in said], whole)
        yield from record_checks("comments", [(one.author, one.created_at, _text_of(one)) for one in whole])
    if len(whole) >= FEW:
        yield mostly("comments have texts", [bool(one.body or one.body_html) for one in whole])
        bodies = Counter(one.body for one in whole if one.body)
        if bodies:
            text, times = bodies.most_common(1)[0]
            yield SiteCheck("comments have texts of their own", 2 * times < len(whole) or times < FEW,
                        f"{times} of {len(whole)} are {text[:60]!r}" if times >= FEW else "")  # fmt: skip


def _text_of(item: Post | Comment) -> str | None:
    return item.body_html if item.body is None else item.body


def _are_told_by_texts(site: Site) -> bool:
    """Return whether ids of comments are made of fields without a moment among them."""
    spec = site.comment or site.post.comments
    if spec is None or "comment_id" in spec.fields:
        return False
    return not any(kind_of(name, spec.fields[name]) is As.DATE for name in spec.id_of)


def _of_texts(
    threads: Sequence[ReadThread], said: Sequence[str | None], comments: Sequence[Comment]
) -> Iterator[SiteCheck]:
    """Yield what refutes the texts of posts, `said`, and of comments: notes of edits, polls and titles in them."""
    note = next((text for text in said if text and is_edit_note(text)), None)
    if note is not None:
        yield SiteCheck("texts of posts are no notes of edits", False, repr(note))
    noted = [line for line in map(_last_line, [*said, *(one.body for one in comments)])
             if is_edit_note(line)]  # fmt: skip
    if len(noted) > 1:
        yield SiteCheck("texts do not end with notes of edits", False, f"{len(noted)} do, as {noted[0]!r:.80}")
    shares = next((text for text in said if text and len(_SHARES.findall(text)) > 1), None)
    if shares is not None:
        yield SiteCheck("texts of posts are no polls", False, repr(shares[:60]))
    titled = sum(_begins_with_title(one.post.body, one.post.title) for one in threads)
    titled += sum(_begins_with_title(comment.body, one.post.title) for one in threads for comment in one.comments)
    text = f"{titled} begin with the title" if titled else ""
    if titled or len(threads) >= FEW:
        yield SiteCheck("texts are without the title", titled < 2, text)


def _last_line(text: str | None) -> str:
    """Return the last line of a text of several lines."""
    above, _, last = (text or "").rpartition("\n")
    return last if above else ""


def _begins_with_title(text: str | None, title: str | None) -> bool:
    """Return whether a text of several lines has the line of its thread's title above it, as a poll does.

    A number and a label may stand before: `#2 by ann`.
    """
    *above, _ = (text or "").split("\n")
    return bool(title) and any(letters(re.sub(r"^\W*Re\b", "", line)) == letters(title or "") for line in above[:3])


def record_checks(kind: str, said: Sequence[tuple[str | None, int | None, str | None]]) -> Iterator[SiteCheck | None]:
    """Yield checks of proposed rules by author, time and text of records: none is missing, and none is in another."""
    if len(said) < FEW:
        return
    for name, there in zip(("an author", "a time", "a text"), zip(*said, strict=True), strict=True):
        lost = there.count(None)
        # The accounts of a few authors may be gone, and a file may be all that somebody posts.
        most = {"an author": max(1, len(said) // 10), "a text": (len(said) + 10) // 20}.get(name, 0)
        yield SiteCheck(f"{kind} show {name}", lost <= most, f"{lost} of {len(said)} do not" if lost else "")
    times = {at for _, at, _ in said if at is not None}
    yield SiteCheck(f"{kind} have times of their own", len(times) > 1 or not times)
    texts = [text for _, _, text in said if text is not None]
    # A picture or a smiley may be all that somebody says, and is hardly what most people say.
    wordless = [text for text in texts if not re.search(r"[^\W\d_]", text)]
    if len(texts) >= FEW:
        evidence = f"{len(wordless)} of {len(texts)} have none, as {wordless[0]!r:.40}" if wordless else ""
        yield SiteCheck(f"texts of {kind} have words", len(wordless) <= max(1, len(texts) // 5), evidence)
    # The checked moment has the zone of the site.
    # People say "today" too.
    dated = next((text for _, at, text in said if text and at is not None and len(text) <= LONGEST_NAME
                  and re.search(r"\d", text) and abs((moment_of(text) or 0) - at) <= 86_400), None)  # fmt: skip
    if dated is not None:
        yield SiteCheck(f"texts of {kind} are no dates", False, repr(dated))
    named = sum(author is not None and text is not None and author in text for author, _, text in said)
    text = f"{named} of {len(said)} hold the name of their author" if named else ""
    yield SiteCheck(f"texts of {kind} are without their authors", 2 * named <= len(said), text)
    mine = {at: (author, text) for at, (author, _, text) in enumerate(said) if author and text}
    if is_of_author({at: text for at, (_, text) in mine.items()}, {at: author for at, (author, _) in mine.items()}):
        yield SiteCheck(f"texts of {kind} are no labels of authors", False, f"each has one, as {texts[0][:40]!r}")
    for place, word in ((0, "begin"), (-1, "end")):
        lines = Counter(re.sub(r"[\d\W]+", "", text.split("\n")[place]) for text in texts if "\n" in text)
        line, count = lines.most_common(1)[0] if lines else ("", 0)
        if count >= FEW and len(line) <= LONGEST_LABEL:
            yield SiteCheck(f"texts of {kind} do not all {word} alike", 3 * count < 2 * len(texts),
                            f"{count} of {len(texts)} with {line[:40]!r}")  # fmt: skip


def _of_thread_comments(thread: ReadThread) -> Iterator[SiteCheck | None]:
    """Yield what refutes the comments of one thread. Right ones need no line for each thread."""
    seen: set[str] = set()
    for one in thread.comments:
        later = (other.comment_id for other in thread.comments if other.comment_id not in seen)
        if one.parent_id is not None and one.parent_id != thread.row.post_id and one.parent_id in later:
            yield SiteCheck("parents stand before their children", False, f"{one.comment_id} before {one.parent_id}")
            return
        seen.add(one.comment_id)
    parsed = thread.trial.parsed
    count = thread.row.reply_count
    has_more = parsed is not None and any(child.stage is Stage.COMMENT for child in parsed.children)
    if count is not None and len(thread.comments) + thread.gaps + FEW < count and not has_more:
        yield SiteCheck("a long thread leads to its further pages", False,
                        f"{len(thread.comments)} of {count} read on {thread.trial.request.address}")  # fmt: skip
    began = thread.post.created_at
    times = [one.created_at for one in thread.comments if one.created_at is not None]
    if began is not None and len(times) >= FEW:
        older = sum(at < began - FUTURE_S for at in times)
        if 2 * older >= len(times):
            yield SiteCheck("comments are younger than their post", False,
                        f"{older} of {len(times)} are older on {thread.trial.request.address}")  # fmt: skip
