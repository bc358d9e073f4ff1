"""Text checks: authors, times and texts of records by rules that nobody wrote. None is missing, none is in another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from crawl_tasks.discovery.proof.read_pages import ReadPages
from crawl_tasks.discovery.proof.site_check import FEW, SiteCheck
from crawl_tasks.discovery.proof.thread_checks import LONGEST_NAME
from crawl_tasks.discovery.records.boilerplate import is_edit_note
from crawl_tasks.discovery.records.slot_texts import is_of_author
from crawl_tasks.discovery.text.timestamps import moment_of
from crawl_tasks.model import Comment, Post
from crawl_tasks.parse.values.text import letters

LONGEST_LABEL: Final = 16
"""Buttons below a text have fewer letters."""

_SHARES: Final = re.compile(r"\d ?%\s*$", re.MULTILINE)


class WrittenRecord(NamedTuple):
    """A record's author, time and text."""

    author: str | None
    at: int | None
    text: str | None


class WrittenRecords(NamedTuple):
    """Records of one kind, as `posts`."""

    kind: str
    rows: Sequence[WrittenRecord]

    @property
    def texts(self) -> list[str]:
        """The texts of those records that have one."""
        return [row.text for row in self.rows if row.text is not None]

    def checks(self) -> Iterator[SiteCheck]:
        """Yield the checks for which there are records enough."""
        if len(self.rows) < FEW:
            return
        yield from fields_are_shown(self)
        for check in RECORD_CHECKS:
            result = check(self)
            if result is not None:
                yield result
        yield from ends_differ(self)


def fields_are_shown(records: WrittenRecords) -> Iterator[SiteCheck]:
    """Yield whether records have authors, times and texts."""
    count = len(records.rows)
    # The accounts of a few authors may be gone, and a file may be all that somebody posts.
    fields = (
        ("an author", [row.author for row in records.rows], max(1, count // 10)),
        ("a time", [row.at for row in records.rows], 0),
        ("a text", [row.text for row in records.rows], (count + 10) // 20),
    )
    for name, values, most in fields:
        lost = sum(value is None for value in values)
        evidence = f"{lost} of {count} do not" if lost else ""
        yield SiteCheck(f"{records.kind} show {name}", lost <= most, evidence)


def times_differ(records: WrittenRecords) -> SiteCheck:
    """Return whether records have more than one time."""
    times = {row.at for row in records.rows if row.at is not None}
    return SiteCheck(f"{records.kind} have times of their own", len(times) > 1 or not times)


def texts_have_words(records: WrittenRecords) -> SiteCheck | None:
    """Return whether most texts have letters."""
    texts = records.texts
    if len(texts) < FEW:
        return None
    # A picture or a smiley may be all that somebody says, and is hardly what most people say.
    wordless = [text for text in texts if not re.search(r"[^\W\d_]", text)]
    evidence = f"{len(wordless)} of {len(texts)} have none, as {wordless[0]!r:.40}" if wordless else ""
    return SiteCheck(f"texts of {records.kind} have words", len(wordless) <= max(1, len(texts) // 5), evidence)


def texts_are_no_dates(records: WrittenRecords) -> SiteCheck | None:
    """Return the refutation by a text that is the date of its record."""
    for _, at, text in records.rows:
        if text and at is not None and _is_date_of(text, at):
            return SiteCheck(f"texts of {records.kind} are no dates", False, repr(text))
    return None


def _is_date_of(text: str, at: int) -> bool:
    """Return whether a text is the date of its record."""
    # People say "today" too.
    if len(text) > LONGEST_NAME or not re.search(r"\d", text):
        return False
    # The moment of the record has the zone of the site.
    return abs((moment_of(text) or 0) - at) <= 86_400


def texts_hold_no_authors(records: WrittenRecords) -> SiteCheck:
    """Return whether most texts are without the name of their author."""
    count = len(records.rows)
    named = sum(author is not None and text is not None and author in text for author, _, text in records.rows)
    evidence = f"{named} of {count} hold the name of their author" if named else ""
    return SiteCheck(f"texts of {records.kind} are without their authors", 2 * named <= count, evidence)


def texts_are_no_labels(records: WrittenRecords) -> SiteCheck | None:
    """Return the refutation by texts of which each author has one."""
    signed = {place: row for place, row in enumerate(records.rows) if row.author and row.text}
    texts = {place: row.text or "" for place, row in signed.items()}
    if not is_of_author(texts, {place: row.author or "" for place, row in signed.items()}):
        return None
    name = f"texts of {records.kind} are no labels of authors"
    return SiteCheck(name, False, f"each has one, as {records.texts[0][:40]!r}")


def ends_differ(records: WrittenRecords) -> Iterator[SiteCheck]:
    """Yield whether the first and the last lines of texts differ: those of buttons do not."""
    texts = records.texts
    for place, word in ((0, "begin"), (-1, "end")):
        lines = Counter(re.sub(r"[\d\W]+", "", text.split("\n")[place]) for text in texts if "\n" in text)
        line, count = lines.most_common(1)[0] if lines else ("", 0)
        if count >= FEW and len(line) <= LONGEST_LABEL:
            name = f"texts of {records.kind} do not all {word} alike"
            yield SiteCheck(name, 3 * count < 2 * len(texts), f"{count} of {len(texts)} with {line[:40]!r}")


RECORD_CHECKS: Final[tuple[Callable[[WrittenRecords], SiteCheck | None], ...]] = (
    times_differ,
    texts_have_words,
    texts_are_no_dates,
    texts_hold_no_authors,
    texts_are_no_labels,
)


def posts_are_whole(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the checks of posts by proposed rules."""
    if pages.is_proposed:
        yield from WrittenRecords("posts", _posts(pages)).checks()


def comments_are_whole(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the checks of comments by proposed rules."""
    if pages.is_proposed:
        rows = [WrittenRecord(item.author, item.created_at, _text_of(item)) for item in pages.readable_comments]
        yield from WrittenRecords("comments", rows).checks()


def entries_are_whole(pages: ReadPages) -> Iterator[SiteCheck]:
    """Yield the checks of posts without a page of their own by proposed rules, where lists show their texts."""
    if pages.is_proposed and "body" in pages.site.list.fields:
        rows = [WrittenRecord(row.author, row.created_at, row.body) for row in pages.rows if row.url is None]
        yield from WrittenRecords("entries", rows).checks()


def _posts(pages: ReadPages) -> list[WrittenRecord]:
    # The store has what either page shows.
    return [
        WrittenRecord(post.author or row.author, post.created_at or row.created_at, _text_of(post))
        for row, _, post, *_ in pages.threads
    ]


def _text_of(item: Post | Comment) -> str | None:
    return item.body_html if item.body is None else item.body


def _post_texts(pages: ReadPages) -> list[str]:
    texts = (_text_of(thread.post) for thread in pages.threads)
    return [text for text in texts if text]


def posts_are_no_edit_notes(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation by a text of a post that is the note of an edit."""
    note = next((text for text in _post_texts(pages) if is_edit_note(text)), None)
    if note is None or not pages.is_proposed:
        return None
    return SiteCheck("texts of posts are no notes of edits", False, repr(note))


def texts_end_without_edit_notes(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation by texts that end with the note of an edit."""
    if not pages.is_proposed:
        return None
    lines = map(_last_line, [*_post_texts(pages), *(comment.body for comment in pages.readable_comments)])
    notes = [line for line in lines if is_edit_note(line)]
    if len(notes) < 2:
        return None
    return SiteCheck("texts do not end with notes of edits", False, f"{len(notes)} do, as {notes[0]!r:.80}")


def _last_line(text: str | None) -> str:
    """Return the last line of a text of several lines."""
    above, _, last = (text or "").rpartition("\n")
    return last if above else ""


def posts_are_no_polls(pages: ReadPages) -> SiteCheck | None:
    """Return the refutation by a text of a post with shares in percent."""
    poll = next((text for text in _post_texts(pages) if len(_SHARES.findall(text)) > 1), None)
    if poll is None or not pages.is_proposed:
        return None
    return SiteCheck("texts of posts are no polls", False, repr(poll[:60]))


def texts_have_no_title(pages: ReadPages) -> SiteCheck | None:
    """Return whether texts do not begin with the title of their thread."""
    if not pages.is_proposed:
        return None
    count = 0
    for thread in pages.threads:
        texts = [thread.post.body, *(comment.body for comment in thread.comments)]
        count += sum(_begins_with_title(text, thread.post.title) for text in texts)
    if not count and len(pages.threads) < FEW:
        return None
    return SiteCheck("texts are without the title", count < 2, f"{count} begin with the title" if count else "")


def _begins_with_title(text: str | None, title: str | None) -> bool:
    """Return whether a text of several lines has the line of its thread's title above it, as a poll does.

    A number and a label may be before: `#2 by ann`.
    """
    *above, _ = (text or "").split("\n")
    return bool(title) and any(letters(re.sub(r"^\W*Re\b", "", line)) == letters(title or "") for line in above[:3])
