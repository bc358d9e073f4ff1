"""The generator: the first generation of a forum, out of a seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from crawl_tasks.demo.content import Board, ForumContent, Reply, ReplyState, Style, Thread
from crawl_tasks.demo.sizes import COMMENTS_PER_PAGE, Size
from crawl_tasks.demo.texts import Language, TextPair, Texts

# 2024-01-01T00:00:00Z: the forum's present is some day of that year.
EPOCH = 1_704_067_200
FIRST_POST, FIRST_COMMENT = 100_001, 500_001
DAY_S = 86_400
DELETED_SHARE = 0.03
DELETED_BODY = TextPair("[deleted]", "[deleted]")
_KINDS = (
    (Language.CHINESE, Style.HAN, True, "数码硬件"),
    (Language.ENGLISH, Style.ATTRIBUTE, False, "Programming & <Tools>"),
    (Language.CHINESE, Style.RELATIVE, False, "生活杂谈"),
    (Language.ENGLISH, Style.RELATIVE, True, "Q&A"),
    (Language.CHINESE, Style.ATTRIBUTE, True, "旅行·摄影"),
    (Language.ENGLISH, Style.LOCAL, False, "Off topic"),
)


def stream(seed: int, *purpose: object) -> Random:
    """Return a random generator for one purpose, so that no purpose disturbs another."""
    return Random(":".join(map(str, (seed, *purpose))))  # noqa: S311  # content, no secrets


def create(seed: int, size: Size) -> ForumContent:
    """Return generation 1. The same seed and size give the same forum on every machine."""
    rng = stream(seed, "clock")
    now = EPOCH + rng.randrange(60, 360) * DAY_S + rng.randrange(DAY_S // 60) * 60
    boards = {board.board_id: board for board in _boards(size)}
    places = _places(stream(seed, "places"), boards, size)
    author = Author(seed, size, now)
    extras = size.extra_pages(len(places))
    ranks = stream(seed, "ranks").sample(range(len(places)), len(places))
    threads: dict[str, Thread] = {}
    for number, (place, rank) in enumerate(zip(places, ranks, strict=True)):
        thread = author.thread(str(FIRST_POST + number), [boards[board] for board in place], extras[rank], rank)
        # A high rank is a thread without comment pages.
        is_deleted = rank >= len(places) * (1 - DELETED_SHARE)
        threads[thread.post_id] = replace(thread, gone=(404, 410)[rank % 2]) if is_deleted else thread
    return ForumContent(seed, size, 1, now, boards, threads, author.next_comment)


class Author:
    """Writes threads and comments. Knows the present and the next free comment id."""

    def __init__(self, seed: int, size: Size, now: int, next_comment: int = FIRST_COMMENT) -> None:
        self._seed, self._size, self._now = seed, size, now
        self._prose = {language: Texts(language, stream(seed, "prose", language)) for language in Language}
        self.next_comment = next_comment

    def post(self, rng: Random, post_id: str, boards: list[Board], created_at: int, precision_s: int) -> Thread:
        """Return a thread without comments."""
        prose = self._prose[boards[0].language]
        name = None if rng.random() < 0.04 else self._name(rng)
        body = prose.body(rng, rng.randint(1, 6), quoted=prose.quotable(rng) if rng.random() < 0.1 else None)
        places = tuple(board.board_id for board in boards)
        return Thread(post_id, places, prose.title(rng), name, created_at, body, _views(rng), precision_s)

    def reply(self, rng: Random, board: Board, parent: Reply | None, created_at: int) -> Reply:
        """Return a comment with the next free id, an answer to `parent` or to the post."""
        comment_id, self.next_comment = str(self.next_comment), self.next_comment + 1
        parent_id, depth = (parent.comment_id, parent.depth + 1) if parent else (None, 0)
        if rng.random() < 0.02:
            return Reply(comment_id, parent_id, depth, None, created_at, DELETED_BODY, ReplyState.DELETED)
        prose = self._prose[board.language]
        quoted = prose.quotable(rng) if rng.random() < 0.1 else None
        body = prose.body(rng, rng.choice((1, 1, 2, 3)), quoted=quoted)
        return Reply(comment_id, parent_id, depth, self._name(rng), created_at, body)

    def thread(self, post_id: str, boards: list[Board], extra_pages: int, rank: int) -> Thread:
        """Return a thread with a history. Low ranks are long. Every sixth rank has a full last page."""
        rng = stream(self._seed, "thread", post_id)
        precision_s = 1 if all(board.style is Style.ATTRIBUTE for board in boards) else 60
        comments = _comments(rng, extra_pages, is_full=rank % 6 == 0)
        active_at, born_at = self._span(rng, comments, precision_s)
        thread = self.post(rng, post_id, boards, born_at, precision_s)
        moments = sorted(_between(rng, born_at, active_at, precision_s) for _ in range(comments - 1))
        replies: list[Reply] = []
        for moment in [*moments, active_at][:comments]:
            parent = rng.choice(replies[-12:]) if replies and rng.random() < 0.55 else None
            replies.append(self.reply(rng, boards[0], parent, moment))
        return self._edit(rng, replace(thread, replies=tuple(replies)))

    def _span(self, rng: Random, comments: int, precision_s: int) -> tuple[int, int]:
        """Return the last activity and the beginning of a thread. Much of the activity is recent."""
        ago = int(rng.random() ** 3 * self._size.days * DAY_S) + 180
        if ago < DAY_S and rng.random() < 0.4:
            # "3 hours ago" is exact for whole hours only.
            ago = max(1, round(ago / 3600)) * 3600
        active_at = (self._now - ago) // precision_s * precision_s
        age = rng.randrange(600, 20 * DAY_S) if comments else 0
        return active_at, (active_at - age) // precision_s * precision_s

    def _edit(self, rng: Random, thread: Thread) -> Thread:
        """Return the thread, in some cases with a past edit."""
        if rng.random() > 0.06:
            return thread
        edited_at = _between(rng, thread.created_at, self._now, thread.precision_s)
        return replace(thread, edits=rng.randint(1, 3), edited_at=edited_at)

    def _name(self, rng: Random) -> str:
        language = rng.choice((Language.CHINESE, Language.ENGLISH))
        return self._prose[language].name(rng.randrange(self._size.users))


def _boards(size: Size) -> list[Board]:
    boards = []
    for number in range(size.boards):
        language, style, nests, title = _KINDS[number % len(_KINDS)]
        again = number // len(_KINDS)
        boards.append(Board(str(number + 1), f"{title} {again + 1}" if again else title, language, style, nests))
    return boards


def _places(rng: Random, boards: dict[str, Board], size: Size) -> list[tuple[str, ...]]:
    """Return for each thread the boards whose lists show the thread: the home board, and perhaps others."""
    rows = {board: rng.randint(size.min_rows, size.max_rows) for board in boards}
    guests = {board: round(count * size.duplicate_share) for board, count in rows.items()}
    homes = [board for board, count in rows.items() for _ in range(count - guests[board])]
    rng.shuffle(homes)
    places = [[home] for home in homes]
    for board, count in guests.items():
        strangers = [place for place in places if board not in place]
        for place in rng.sample(strangers, count):
            place.append(board)
    return [tuple(place) for place in places]


def _comments(rng: Random, extra_pages: int, *, is_full: bool) -> int:
    if extra_pages:
        return extra_pages * COMMENTS_PER_PAGE + (
            COMMENTS_PER_PAGE if is_full else rng.randint(1, COMMENTS_PER_PAGE - 1)
        )
    return 0 if rng.random() < 0.3 else rng.randint(1, COMMENTS_PER_PAGE)


def _between(rng: Random, start: int, end: int, precision_s: int) -> int:
    return start + rng.randint(0, (end - start) // precision_s) * precision_s


def _views(rng: Random) -> int:
    """Return a number of views that every board's short form writes exactly."""
    views = int(10 ** rng.uniform(1, 5.6))
    return views if views < 10_000 else views // 1000 * 1000
