"""Each thing that can happen to a forum. A change says what it did, or None where nothing was fit for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from crawl_tasks.demo.content import Reply, ReplyState, Style
from crawl_tasks.demo.generator import DELETED_BODY, Author
from crawl_tasks.demo.texts import TextPair
from tests.changing.topics import Forum, Topic, in_order

HALF_BYTES = "\ue000"
"""Stands in a page's text where its bytes will have the first three of an emoji's four."""
HALVES = (TextPair("<p>&#55357;</p>", "\ufffd"), TextPair(f"<p>{HALF_BYTES}</p>", "\ufffd"))
_HOT = 14


@dataclass(slots=True)
class Desk:
    """What a change is made with: its own source of chance, who writes, the present, and what shall follow later."""

    forum: Forum
    author: Author
    rng: Random
    now: float
    later: Callable[[int, Change], None]

    def pick(self, fits: Callable[[Topic], object] = lambda topic: not topic.gone) -> Topic | None:
        """Draw a thread that fits, in two of three cases one of a few on which most things happen."""
        found = [topic for topic in self.forum.topics.values() if fits(topic)]
        hot = [topic for topic in found if int(topic.post_id) % 5 == 0][:_HOT]
        choice = hot if hot and self.rng.random() < 0.66 else found
        return self.rng.choice(choice) if choice else None

    def moment(self, topic: Topic) -> int:
        """Return the present as the thread's boards write it, and not before its newest comment."""
        return max(int(self.now) // topic.precision_s * topic.precision_s, topic.active_at)

    def odd(self, body: TextPair) -> TextPair:
        """Add half an emoji to some texts."""
        half = self.rng.choice(HALVES)
        return TextPair(f"{body.html}\n{half.html}", f"{body.text}\n{half.text}") if self.rng.random() < 0.1 else body


Change = Callable[[Desk], str | None]


def new_post(desk: Desk) -> str:
    """Write a post, some on two boards."""
    forum, rng = desk.forum, desk.rng
    boards = rng.sample(list(forum.boards.values()), 2 if rng.random() < 0.25 else 1)
    precision_s = 1 if all(board.style is Style.ATTRIBUTE for board in boards) else 60
    post_id = str(max(map(int, forum.topics)) + 1)
    thread = desk.author.post(rng, post_id, boards, int(desk.now) // precision_s * precision_s, precision_s)
    topic = Topic.of(thread)
    forum.put(replace(topic, body=desk.odd(topic.body)))
    return f"new post {post_id}"


def reply(desk: Desk, post_id: str = "", count: int = 1) -> str | None:
    """Write comments in one thread."""
    topic = desk.forum.topics[post_id] if post_id else desk.pick()
    if topic is None or topic.gone:
        return None
    rng, forum, written = desk.rng, desk.forum, []
    for _ in range(count):
        parent = rng.choice(topic.replies[-3:]) if topic.replies and rng.random() < 0.5 else None
        one = desk.author.reply(rng, forum.board_of(topic), parent, desk.moment(topic))
        written.append(replace(one, body=desk.odd(one.body)))
        topic = replace(topic, replies=(*topic.replies, written[-1]))
    forum.next_comment = desk.author.next_comment
    forum.put(topic)
    return f"reply {topic.post_id}/{','.join(one.comment_id for one in written)}"


def edit(desk: Desk, *, is_seen: bool) -> str | None:
    """Edit a post: counted and dated, or without a trace."""
    topic = desk.pick()
    if topic is None:
        return None
    body = desk.odd(_edited(topic.body, desk.rng))
    if is_seen:
        topic = replace(topic, edits=topic.edits + 1, edited_at=desk.moment(topic))
    desk.forum.put(replace(topic, body=body))
    return f"{'seen' if is_seen else 'silent'} edit {topic.post_id}"


def retitle(desk: Desk) -> str | None:
    """Return a post another title, some its former one again."""
    topic = desk.pick()
    if topic is None:
        return None
    title, mark = topic.title, " [solved]"
    title = title.removesuffix(mark) if title.endswith(mark) else title + mark
    desk.forum.put(replace(topic, title=title))
    return f"title {topic.post_id}"


def edit_comment(desk: Desk) -> str | None:
    """Edit a comment; no list shows it."""
    return _change_comment(desk, "edited comment", lambda one: replace(one, body=_edited(one.body, desk.rng)))


def _change_comment(desk: Desk, what: str, to: Callable[[Reply], Reply]) -> str | None:
    topic = desk.pick(lambda topic: not topic.gone and _normal(topic))
    if topic is None:
        return None
    one = desk.rng.choice(_normal(topic))
    desk.forum.put(replace(topic, replies=in_order(to(each) if each is one else each for each in topic.replies)))
    return f"{what} {topic.post_id}/{one.comment_id}"


def _normal(topic: Topic) -> list[Reply]:
    return [one for one in topic.replies if one.state is ReplyState.NORMAL]


def _edited(body: TextPair, rng: Random) -> TextPair:
    note = f"Edit {rng.randrange(10**6)}"
    return TextPair(f"{body.html}\n<p>{note}</p>", f"{body.text}\n{note}")


def delete(desk: Desk, *, gone: int, is_listed: bool, is_marked: bool = False) -> str | None:
    """Take a thread away; many come back, as they were."""
    topic = desk.pick()
    if topic is None:
        return None
    desk.forum.put(replace(topic, gone=gone, is_listed=is_listed, is_marked=is_marked))
    if desk.rng.random() < 0.6:
        desk.later(desk.rng.randrange(4, 60), partial(restore, post_id=topic.post_id))
    form = "marked" if is_marked else "listed" if is_listed else "off lists"
    return f"deleted {topic.post_id} ({gone}, {form})"


def restore(desk: Desk, post_id: str = "") -> str | None:
    """Bring a thread back with the revision it had."""
    topic = desk.forum.topics[post_id] if post_id else desk.pick(lambda topic: topic.gone)
    if topic is None or not topic.gone:
        return None
    desk.forum.put(replace(topic, gone=0, is_listed=True, is_marked=False))
    return f"restored {topic.post_id}"


def remove_comments(desk: Desk, post_id: str = "", count: int = 1, *, from_end: bool = False) -> str | None:
    """Take comments away altogether, so that those after them slide to earlier pages."""
    topic = desk.forum.topics[post_id] if post_id else desk.pick(lambda one: not one.gone and len(one.replies) >= count)
    if topic is None or len(topic.replies) < count:
        return None
    gone = topic.replies[-count:] if from_end else tuple(desk.rng.sample(topic.replies, count))
    left = tuple(one for one in topic.replies if one not in gone)
    desk.forum.put(replace(topic, replies=left, removed=(*topic.removed, *gone)))
    return f"removed comment {topic.post_id}/{','.join(one.comment_id for one in gone)}"


def put_back(desk: Desk, post_id: str = "") -> str | None:
    """Bring a comment back at its place."""
    topic = desk.forum.topics[post_id] if post_id else desk.pick(lambda topic: not topic.gone and topic.removed)
    if topic is None or not topic.removed:
        return None
    one = desk.rng.choice(topic.removed)
    removed = tuple(each for each in topic.removed if each is not one)
    desk.forum.put(replace(topic, replies=in_order((*topic.replies, one)), removed=removed))
    return f"put back comment {topic.post_id}/{one.comment_id}"


def cover(desk: Desk) -> str | None:
    """Leave a stub in place of a comment."""
    topic = desk.pick(lambda topic: not topic.gone and _normal(topic))
    if topic is None:
        return None
    one = desk.rng.choice(_normal(topic))
    stub = replace(one, author=None, body=DELETED_BODY, state=ReplyState.DELETED)
    replies = in_order(stub if each is one else each for each in topic.replies)
    desk.forum.put(replace(topic, replies=replies, covered=(*topic.covered, one)))
    return f"stub for comment {topic.post_id}/{one.comment_id}"


def uncover(desk: Desk) -> str | None:
    """Bring back what a stub stands for."""

    def stubs(topic: Topic) -> list[Reply]:
        there = {each.comment_id for each in topic.replies}
        return [one for one in topic.covered if one.comment_id in there]

    topic = desk.pick(lambda topic: not topic.gone and stubs(topic))
    if topic is None:
        return None
    one = desk.rng.choice(stubs(topic))
    replies = in_order(one if each.comment_id == one.comment_id else each for each in topic.replies)
    covered = tuple(each for each in topic.covered if each is not one)
    desk.forum.put(replace(topic, replies=replies, covered=covered))
    return f"comment again {topic.post_id}/{one.comment_id}"


def dip(desk: Desk) -> str | None:
    """Let a count fall by one and rise to where it was: 25, 24, 25."""
    topic = desk.pick(lambda topic: not topic.gone and len(topic.replies) > 1)
    if topic is None:
        return None
    desk.later(desk.rng.randrange(1, 12), partial(reply, post_id=topic.post_id))
    return remove_comments(desk, topic.post_id, from_end=desk.rng.random() < 0.5)


def fall(desk: Desk) -> str | None:
    """Let a count fall by eight, and rise by five later."""
    topic = desk.pick(lambda topic: not topic.gone and len(topic.replies) > 13)
    if topic is None:
        return None
    desk.later(desk.rng.randrange(10, 40), partial(reply, post_id=topic.post_id, count=5))
    return remove_comments(desk, topic.post_id, 8, from_end=desk.rng.random() < 0.5)


def move(desk: Desk) -> str | None:
    """Move a thread to another board; one that shows seconds stays, since not every board can."""
    topic = desk.pick(lambda topic: not topic.gone and topic.precision_s > 1)
    if topic is None:
        return None
    to = desk.rng.choice([board for board in desk.forum.boards if board not in topic.boards])
    desk.forum.put(replace(topic, boards=(to, *topic.boards[1:])))
    return f"moved {topic.post_id} from {topic.boards[0]} to {to}"


def show_on_two(desk: Desk) -> str | None:
    """Show a thread on a second board, or on its own only."""
    topic = desk.pick(lambda topic: not topic.gone and topic.precision_s > 1)
    if topic is None:
        return None
    if len(topic.boards) > 1:
        desk.forum.put(replace(topic, boards=topic.boards[:1]))
        return f"off board {topic.boards[1]}: {topic.post_id}"
    to = desk.rng.choice([board for board in desk.forum.boards if board not in topic.boards])
    desk.forum.put(replace(topic, boards=(*topic.boards, to)))
    return f"on board {to} too: {topic.post_id}"


def pin(desk: Desk) -> str | None:
    """Pin a thread, or unpin one where some are."""
    pinned = [topic for topic in desk.forum.topics.values() if topic.is_pinned and not topic.gone]
    topic = desk.rng.choice(pinned) if pinned and desk.rng.random() < 0.5 else desk.pick()
    if topic is None:
        return None
    desk.forum.put(replace(topic, is_pinned=not topic.is_pinned))
    return f"{'unpinned' if topic.is_pinned else 'pinned'} {topic.post_id}"


def flair(desk: Desk) -> str | None:
    """Return a thread a mark that only its page shows."""
    topic = desk.pick()
    if topic is None:
        return None
    desk.forum.put(replace(topic, flair=desk.rng.choice(("solved", "open", "wiki"))))
    return f"flair {topic.post_id}"


def look(desk: Desk) -> str | None:
    """Let a thread be read by some more."""
    topic = desk.pick()
    if topic is None:
        return None
    views = topic.views + desk.rng.randrange(1, 9)
    desk.forum.put(replace(topic, views=views if views < 10_000 else views // 1000 * 1000 + 1000))
    return f"views {topic.post_id}"


def rename(desk: Desk) -> str | None:
    """Return an account another name, everywhere."""
    names = sorted({topic.author for topic in desk.forum.topics.values() if topic.author})
    old = desk.rng.choice(names)
    new = f"{old}*{desk.rng.randrange(1000)}"

    def renamed(one: Reply) -> Reply:
        return replace(one, author=new) if one.author == old else one

    for topic in list(desk.forum.topics.values()):
        parts = {name: tuple(map(renamed, getattr(topic, name))) for name in ("replies", "removed", "covered")}
        changed = replace(topic, author=new if topic.author == old else topic.author, **parts)
        if changed != topic:
            desk.forum.put(changed)
    return f"renamed {old} to {new}"
