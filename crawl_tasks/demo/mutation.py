"""The mutation of a forum: the next generation, with the changes between two crawls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from crawl_tasks.demo.content import ForumContent, Style, Thread
from crawl_tasks.demo.generator import Author, stream
from crawl_tasks.demo.sizes import COMMENTS_PER_PAGE
from crawl_tasks.demo.texts import TextPair

STEP_S = 1800
NEW_POSTS = 5


@dataclass(frozen=True, slots=True)
class Mutation:
    """The changes of a generation, as ids: posts, comments (id -> post id) and edited posts.

    The three comments are, in order: one that opens a comment page of its own, one on the last page of a long thread,
    one in a thread with a single page.
    """

    generation: int
    posts: tuple[str, ...]
    comments: tuple[tuple[str, str], ...]
    edited: tuple[str, ...]


def advance(world: ForumContent) -> tuple[ForumContent, Mutation]:
    """Return the next generation, half an hour later, and its changes.

    Raises:
        ValueError: No thread is left whose last page is full. Start again from a fresh forum.
    """
    rng = stream(world.seed, "news", world.generation + 1)
    now = world.now + STEP_S
    author = Author(world.seed, world.size, now, world.next_comment)
    threads = dict(world.threads)
    grown = [_grow(world, author, rng, thread) for thread in _to_grow(world, rng)]
    edited = _edit(world, rng, {thread.post_id for thread in grown})
    fresh = _new_posts(world, author, rng)
    threads.update((thread.post_id, thread) for thread in (*grown, edited, *fresh))
    news = Mutation(
        generation=world.generation + 1,
        posts=tuple(thread.post_id for thread in fresh),
        comments=tuple((thread.replies[-1].comment_id, thread.post_id) for thread in grown),
        edited=(edited.post_id,),
    )
    after = replace(world, generation=news.generation, now=now, threads=threads, next_comment=author.next_comment)
    return after, news


def _to_grow(world: ForumContent, rng: Random) -> list[Thread]:
    """Return a thread whose last page is full, a long one with room on its last page, and a short one with room."""
    wanted: tuple[Callable[[Thread], bool], ...] = (
        lambda thread: len(thread.replies) > 0 and len(thread.replies) % COMMENTS_PER_PAGE == 0,
        lambda thread: thread.pages >= 4 and len(thread.replies) % COMMENTS_PER_PAGE > 0,
        lambda thread: 0 < len(thread.replies) < COMMENTS_PER_PAGE,
    )
    present = [thread for thread in world.threads.values() if not thread.gone]
    choices = [[thread for thread in present if is_wanted(thread)] for is_wanted in wanted]
    if not all(choices):
        raise ValueError(f"generation {world.generation} of seed {world.seed} has no thread left to grow; start afresh")
    return [rng.choice(choice) for choice in choices]


def _grow(world: ForumContent, author: Author, rng: Random, thread: Thread) -> Thread:
    parent = rng.choice(thread.replies[-3:])
    reply = author.reply(rng, world.home(thread), parent, _moment(world, rng, thread.precision_s))
    return replace(thread, replies=(*thread.replies, reply))


def _edit(world: ForumContent, rng: Random, busy: set[str]) -> Thread:
    choice = [thread for thread in world.threads.values() if not thread.gone and thread.post_id not in busy]
    thread = rng.choice(choice)
    note = f"Edit {thread.edits + 1}: 已更新 & checked."
    body = TextPair(f"{thread.body.html}\n<p>{note.replace('&', '&amp;')}</p>", f"{thread.body.text}\n{note}")
    edited_at = _moment(world, rng, thread.precision_s)
    return replace(thread, body=body, edits=thread.edits + 1, edited_at=edited_at)


def _new_posts(world: ForumContent, author: Author, rng: Random) -> list[Thread]:
    """Return posts without comments. The first is on two boards."""
    first_id = max(map(int, world.threads)) + 1
    posts = []
    for number in range(NEW_POSTS):
        boards = rng.sample(list(world.boards.values()), 2 if number == 0 else 1)
        precision_s = 1 if all(board.style is Style.ATTRIBUTE for board in boards) else 60
        posts.append(author.post(rng, str(first_id + number), boards, _moment(world, rng, precision_s), precision_s))
    return posts


def _moment(world: ForumContent, rng: Random, precision_s: int) -> int:
    """Return a moment after the last generation and before the present of this one."""
    return world.now + rng.randrange(60 // precision_s, STEP_S // precision_s) * precision_s
