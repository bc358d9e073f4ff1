"""A path into an answer, as the forum is at that moment; the markup is the demo's, with what the package names."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from crawl_tasks.demo import render
from crawl_tasks.demo.content import Board
from crawl_tasks.demo.forum import HTML, TEXT, Answer
from crawl_tasks.demo.page_chrome import PageChrome
from crawl_tasks.demo.render import moment
from tests.changing.changes import HALF_BYTES
from tests.changing.topics import COUNT_ONLY, SIZE, Forum, Topic

_PATH = re.compile(r"/(?:(list|comment)/([0-9]{1,18})/([0-9]{1,9})|post/([0-9]{1,18}))")
_FURNITURE = PageChrome(heavy=False)
_ROBOTS = b"User-agent: *\nAllow: /\n"
_LAST = re.compile(r'<td class="last">.*?</td>', re.DOTALL)
_EDITED = re.compile(r'<span class="edited".*?</span> ', re.DOTALL)
_DATE = re.compile(r"\d{4}[-年]\d")
_ROW = re.compile(r'<tr class="thread" data-post="(\d+)">')


@dataclass(frozen=True, slots=True)
class Shown:
    """An answer, and the version of each thread that it shows; of a list also what site.yaml makes a revision of."""

    answer: Answer
    versions: dict[str, int] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=dict)


def show(forum: Forum, path: str, now: float) -> Shown:
    """Answer for a path; `now` is the clock by which moments are put into words."""
    if path == "/robots.txt":
        return Shown(Answer(200, {"content-type": TEXT}, _ROBOTS))
    found = _PATH.fullmatch(path)
    if found is None:
        return Shown(_absent(404))
    kind, board_or_post, page, post = found.groups()
    if kind == "list":
        return _list(forum, board_or_post, int(page), now)
    topic = forum.topics.get(post or board_or_post)
    if topic is None:
        return Shown(_absent(404))
    return Shown(_thread(forum, topic, int(page) if page else 0, now), {topic.post_id: topic.version})


def _list(forum: Forum, board_id: str, page: int, now: float) -> Shown:
    if board_id not in forum.boards:
        return Shown(_absent(404))
    rows, step = forum.listing(board_id), SIZE.rows_per_page
    count = max(1, -(-len(rows) // step))
    if not 1 <= page <= count:
        return Shown(_absent(404))
    part = rows[(page - 1) * step : page * step]
    board = forum.boards[board_id]
    text = render.list_page(forum.world(now), _FURNITURE, board, part, page=page, pages=count)
    if board_id == COUNT_ONLY:
        text = _EDITED.sub("", _LAST.sub('<td class="last">-</td>', text))
    text = _ROW.sub(lambda row: _marked(forum.topics[row[1]]), text)
    versions = {topic.post_id: topic.version for topic in part}
    return Shown(_html(text), versions, {topic.post_id: _revision(topic, board, now) for topic in part})


def _revision(topic: Topic, board: Board, now: float) -> str:
    """Return what a row shows of a thread's state and shows tomorrow too: a moment in words is none."""
    parts = [str(len(topic.replies))]
    if board.board_id != COUNT_ONLY:
        last = moment(board, topic.last_reply_at, int(now)) if topic.last_reply_at else ""
        parts += [last * bool(_DATE.search(last)), f"{topic.edits} edits" * bool(topic.edits)]
    return "|".join(filter(None, parts))


def _marked(topic: Topic) -> str:
    state = ' data-state="deleted"' if topic.is_marked else ""
    pinned = ' data-pinned="1"' if topic.is_pinned else ""
    return f'<tr class="thread" data-post="{topic.post_id}"{state}{pinned}>'


def _thread(forum: Forum, topic: Topic, page: int, now: float) -> Answer:
    if topic.gone:
        return _absent(topic.gone)
    if page == 1:
        return Answer(301, {"content-type": HTML, "location": f"/post/{topic.post_id}"}, b"")
    if page > topic.pages:
        return _absent(404)
    if page:
        return _html(render.comment_page(forum.world(now), _FURNITURE, topic, page))
    text = render.post_page(forum.world(now), _FURNITURE, topic)
    flair = f'<article class="post" data-flair="{topic.flair}" '
    return _html(text.replace('<article class="post" ', flair, 1) if topic.flair else text)


def _html(text: str) -> Answer:
    return Answer(200, {"content-type": HTML}, text.encode().replace(HALF_BYTES.encode(), b"\xf0\x9f\x98"))


def _absent(status: int) -> Answer:
    return Answer(status, {"content-type": HTML}, f"<title>{status}</title>there is no such page\n".encode())
