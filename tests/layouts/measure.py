"""What `crawl-tasks new` makes of a made-up forum: every record by the file that it writes, against the truth."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory

from crawl_tasks.cli.exits import Exit
from crawl_tasks.errors import CrawlError
from crawl_tasks.fetch.fetcher import Fetcher
from crawl_tasks.model import Comment, Post, Request, Stage
from crawl_tasks.operate.one_page import one_fetcher
from crawl_tasks.registry.site_registry import CompiledSite, compile_site
from crawl_tasks.settings import load_settings
from crawl_tasks.sites.loader import load_site
from tests.layouts.clutter import REMOVED, SPOILER, is_removed
from tests.layouts.drawing import Content, Drawn, content, drawn
from tests.layouts.pages import Pages
from tests.programs.host import served
from tests.unit.command_line import run

_MOST_PAGES = 600
# Author, time, title or title of the thread, and text: no two records of a forum have the same.
Row = tuple[str, str, int, str, str]


class Verdict(StrEnum):
    """What came of a forum. `WRONG` is a file that was written without complaint, and reads anything wrongly."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True)
class Outcome:
    """The verdict on one layout. `why` is the reason of a refusal, or the first differences."""

    seed: int
    verdict: Verdict
    requests: int
    why: str = ""
    is_right_inside: bool = False
    """Whether a refused file reads every record right: the forum was refuted without a reason."""


def measured(seed: int) -> Outcome:
    """Let `new` look at the forum of a seed, and read the forum whole by the file."""
    layout = drawn(seed)
    whole = content(layout)
    with served(Pages(layout, whole)) as host, TemporaryDirectory() as home:
        result = run("new", host.url, "--name", "made", home=Path(home))
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        requests = len(host.asked)
        file = Path(home) / "sites" / "made.yaml"
        if not file.exists():
            return Outcome(seed, Verdict.REFUSED, requests, _reason(result.stderr))
        site = load_site(file)
        wrong = compared(read_whole(compile_site(site, None), one_fetcher(load_settings())), layout, whole)
    if result.exit_code != Exit.OK:
        return Outcome(seed, Verdict.REFUSED, requests, _reason(result.stderr), not wrong)
    return Outcome(seed, Verdict.WRONG if wrong else Verdict.RIGHT, requests, "; ".join(wrong[:3]))


def _reason(said: str) -> str:
    refuted = re.findall(r"^refuted   (.+)$", said, re.MULTILINE)
    return "; ".join(refuted[:2]) or said.strip().splitlines()[-1] if said.strip() else ""


@dataclass(frozen=True)
class Read:
    """The records that a crawl would store, and the errors on the way."""

    posts: tuple[Post, ...]
    comments: tuple[Comment, ...]
    errors: tuple[str, ...]


def read_whole(opened: CompiledSite, fetcher: Fetcher) -> Read:
    """Read every page of a forum that the file leads to, each once."""
    site = opened.site
    waiting = [Request(site.name, Stage.LIST, one.id, opened.address(Stage.LIST, one.id, 1)) for one in site.boards]
    asked, errors = set(waiting), list[str]()
    listed, shown, comments = dict[str, Post](), dict[str, Post](), dict[tuple[str, str], Comment]()
    names = set()
    while waiting and len(asked) < _MOST_PAGES:
        request = waiting.pop(0)
        try:
            parsed = opened.parser.parse(request, fetcher.fetch(request, opened.policy), 0)
        except CrawlError as error:
            errors.append(str(error))
            continue
        for post in parsed.items.posts:
            (listed if request.stage is Stage.LIST else shown).setdefault(post.post_id, post)
        for one in parsed.items.comments:
            comments.setdefault((one.post_id, one.comment_id), one)
        for child in parsed.children:
            name = (child.stage, child.key, child.page)
            if name not in names and not child.is_ping:
                names.add(name)
                asked.add(child)
                waiting.append(child)
    posts = tuple(
        post._replace(
            forum_id=post.forum_id or (row.forum_id if row else None),
            author=post.author or (row.author if row else None),
            created_at=post.created_at or (row.created_at if row else None),
            title=post.title or (row.title if row else None),
        )
        for key, post in shown.items() for row in [listed.get(key)]
    )  # fmt: skip
    lost = tuple(post for key, post in listed.items() if key not in shown)
    return Read(posts + lost, tuple(comments.values()), tuple(errors))


def compared(read: Read, layout: Drawn, whole: Content) -> list[str]:
    """Return the differences between what was read and what is there."""
    titles = {thread.said[0].lines[0]: thread for thread in whole.threads}
    threads = {post.post_id: titles.get((post.body or "").split("\n")[0]) for post in read.posts}
    truth = Counter[Row]()
    for thread in whole.threads:
        for one in thread.said:
            kind = "post" if one is thread.said[0] else "comment"
            text = REMOVED if is_removed(one, layout) else "".join(one.lines)
            truth[kind, one.author, _day(one.at, layout), _plain(text), thread.title] += not one.is_removed
    found = Counter[Row]()
    for post in read.posts:
        found["post", post.author or "", _day(post.created_at, layout), _plain(post.body), post.title or ""] += 1
    for comment in read.comments:
        # The place of a removed text, without an author, may count as a record.
        if comment.author is None and comment.created_at is None and comment.body == REMOVED:
            continue
        above = threads.get(comment.post_id)
        found[
            "comment", comment.author or "", _day(comment.created_at, layout), _plain(comment.body),
            above.title if above else "",
        ] += 1  # fmt: skip
    missing, surplus = list((truth - found).elements()), list((found - truth).elements())
    wrong = [f"{len(missing)} of {truth.total()} lost, {_first(missing, surplus)}"] if missing else []
    wrong += [f"{len(surplus)} too many"] if surplus and not missing else []
    # A thread that was moved, or is announced everywhere, stands in several lists.
    boards = {
        (post.forum_id, thread.board.key)
        for post in read.posts
        if (thread := threads.get(post.post_id)) and not layout.flags & {"moved", "moved stub", "announcement"}
    }
    if len({one for one, _ in boards}) < len(boards) or len({one for _, one in boards}) < len(boards):
        wrong.append("boards meet")
    return wrong + [f"{len(read.errors)} errors, {error}" for error in read.errors[:1]]


def _first(missing: list[Row], surplus: list[Row]) -> str:
    """Return the fields in which most records differ, with an example."""
    by_text = {row[3]: row for row in surplus}
    pairs = [(row, by_text[row[3]]) for row in missing if row[3] in by_text]
    if not pairs:
        near = next((row for row in surplus if any(row[3] and one[3] in row[3] for one in missing[:50])), None)
        return f"no text is read right: {(near or (surplus or [None])[0])!r:.200} for {missing[0]!r:.160}"
    names = ("kind", "author", "time", "text", "title")
    often = Counter(
        name for row, other in pairs for name, one, two in zip(names, row, other, strict=True) if one != two
    )
    name = often.most_common(1)[0][0]
    place = names.index(name)
    row, other = next((row, other) for row, other in pairs if row[place] != other[place])
    return f"{dict(often)}: {name} {str(other[place])!r:.80} for {str(row[place])!r:.80}"


def _plain(text: str | None) -> str:
    return re.sub(rf"\s|{SPOILER}", "", text or "")


def _day(at: int | None, layout: Drawn) -> int:
    """Return a time as exactly as the pages tell it."""
    if at is None or layout.precision_s:
        return 0
    # Only layouts with `seconds` in their dates show them, and none beside `Today at`.
    shows = ("%S" in layout.form and not layout.has("fresh")) or layout.dates == "datetime"
    return at if shows else at // 60
