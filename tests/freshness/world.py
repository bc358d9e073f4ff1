"""A forum in virtual time: boards with topics, replies, hours of day, weekends, hot threads, and boards that sleep."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from dataclasses import dataclass, field

HISTORY_H, WARM_UP_H, MEASURED_H = 96.0, 72.0, 168.0
END_H = HISTORY_H + WARM_UP_H + MEASURED_H
BEGIN_H = HISTORY_H
"""The crawl begins when the forum has this much history, in hours."""

MEAN_RATE = 0.5  # items a board-hour, topics and replies
UNANSWERED, HOT = 0.4, 0.004
HOT_REPLIES, REPLIES = 100, 4.0
REPLY_MEDIAN_H, REPLY_SIGMA = 1.0, 1.8
PEAK_TO_TROUGH, WEEKEND = 7.0, 0.8
ASLEEP = 0.1
ITEMS_A_TOPIC = 1 + (1 - UNANSWERED - HOT) * REPLIES + HOT * HOT_REPLIES


def shares(kind: str, boards: int, draw: random.Random) -> list[float]:
    """Return the mean rate of each board, drawn as `log-normal SIGMA`, `zipf EXPONENT` or `equal`."""
    name, _, number = kind.partition(" ")
    if name == "log-normal":
        drawn = [draw.lognormvariate(0, float(number)) for _ in range(boards)]
    elif name == "zipf":
        drawn = [1 / rank ** float(number) for rank in range(1, boards + 1)]
    else:
        drawn = [1.0] * boards
    return [MEAN_RATE * boards * one / sum(drawn) for one in drawn]


def busy_at(time_h: float) -> float:
    """Return how busy the forum is at a time, 1 at most."""
    trough = 1 / PEAK_TO_TROUGH
    hour = trough + (1 - trough) * (1 + math.cos(2 * math.pi * (time_h % 24 - 20) / 24)) / 2
    return hour * (WEEKEND if time_h % 168 >= 120 else 1.0)


def is_measured(time_h: float) -> bool:
    """Return whether a time is in the measured hours, the last ones."""
    return time_h >= END_H - MEASURED_H


MEAN_BUSY = sum(busy_at(hour) for hour in range(168)) / 168


@dataclass
class BoardWorld:
    """A board: the times of its items in order, the thread of each, and the time at which it wakes, in hours."""

    rate: float
    wakes_h: float = 0.0
    times: list[float] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def between(self, after_h: float, until_h: float) -> tuple[list[float], list[int]]:
        """Return times and threads of the items of a span."""
        first, last = bisect_right(self.times, after_h), bisect_right(self.times, until_h)
        return self.times[first:last], self.threads[first:last]

    def true_rate(self, time_h: float) -> float:
        """Return the items an hour that this board has in the mean, once it is awake."""
        return self.rate if time_h >= self.wakes_h else 0.0


def forum(kind: str, boards: int, seed: int) -> list[BoardWorld]:
    """Return the boards of a forum."""
    draw = random.Random(f"{kind} {boards} {seed}")
    return [_board(rate, draw, number) for number, rate in enumerate(shares(kind, boards, draw))]


def _board(rate: float, draw: random.Random, number: int) -> BoardWorld:
    board = BoardWorld(rate, draw.uniform(BEGIN_H, END_H) if draw.random() < ASLEEP else 0.0)
    items: list[tuple[float, int]] = []
    now, thread, topics = board.wakes_h, number << 32, rate / ITEMS_A_TOPIC
    while True:
        now += draw.expovariate(topics / MEAN_BUSY)
        if now >= END_H:
            break
        if draw.random() > busy_at(now):
            continue
        thread += 1
        items += [(now, thread), *((time, thread) for time in _replies(now, draw) if time < END_H)]
    items.sort()
    board.times, board.threads = [time for time, _ in items], [one for _, one in items]
    return board


def _replies(posted_h: float, draw: random.Random) -> list[float]:
    kind = draw.random()
    if kind < HOT:
        return [posted_h + draw.random() for _ in range(HOT_REPLIES)]
    if kind < HOT + UNANSWERED:
        return []
    count = 1 + int(draw.expovariate(1 / (REPLIES - 0.5)))
    return [posted_h + draw.lognormvariate(math.log(REPLY_MEDIAN_H), REPLY_SIGMA) for _ in range(count)]
