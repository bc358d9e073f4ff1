"""Row g: pages that kill whoever works on them, among others."""

from __future__ import annotations

import time
from itertools import count

from crawl_tasks.frontier.admin.admin import Admin
from crawl_tasks.frontier.admin.failed import Selection
from crawl_tasks.model import State
from tests.chaos.ground import new_ground
from tests.chaos.points import Poison, Role
from tests.chaos.rows import Row, Scale
from tests.flow.world import SITE

RUNS = 3
"""Attempts of the site: a page that kills its process each time is parked then."""


def run(scale: Scale, seed: int) -> list[Row]:
    """Crawl a forum of which some posts kill the process that parses them."""
    poisoned = deaths = pages = runs = 0
    faults: list[str] = []
    with new_ground() as ground:
        ground.forum("--latency-ms", "5")
        truth = ground.world.truth()
        posts = sorted(row["post_id"] for row in truth["posts"] if row["state"] == "normal" and row["pages"] == 1)
        kinds, step = list(Poison), len(posts) // 5
        for number in count():
            if pages >= scale.innocents:
                break
            poison = {post: kinds[at % len(kinds)] for at, post in enumerate(posts[number % step :: step][:6])}
            ground.begin(max_attempts=RUNS)
            ground.nursery.fork(Role.STORE)
            ground.world.frontier.produce()
            deadline = time.monotonic() + 120
            while not ground.world.is_idle():
                assert time.monotonic() < deadline, f"the crawl does not end: {ground.world.count_requests()}"
                for child in list(ground.nursery.children.values()):
                    if child.code is not None:
                        deaths += 1
                        del ground.nursery.children[child.name]
                while sum(child.role is Role.FETCH for child in ground.nursery.living()) < 4:
                    ground.nursery.fork(Role.FETCH, poison=poison)
                ground.nursery.pump(0.03)
            graves = {
                grave.request.key: grave
                for grave in Admin(ground.world.frontier).failed.requests.list(Selection(SITE, State.PARKED))
            }
            faults += [f"post {post} is not parked" for post in poison.keys() - graves.keys()]
            faults += [f"innocent {key} is parked" for key in graves.keys() - poison.keys()]
            faults += [f"{key}: {grave.reason}" for key, grave in graves.items() if grave.reason != "hung"]
            asked = [str(row["path"]) for row in ground.rows()]
            for post in poison:
                times = asked.count(f"/post/{post}")
                if times != RUNS:
                    faults.append(f"post {post} ran {times} times")
            poisoned += len(poison)
            runs += len([path for path in asked if path.rpartition("/")[2] not in poison or "/post/" not in path])
            pages += len(set(asked)) - len(poison)
    return [
        Row(
            f"pages that kill their process ({', '.join(Poison)})",
            f"{poisoned} among {pages:,} others, {deaths} deaths",
            f"each parked after {RUNS} runs, reason `hung`; {runs / pages:.3f} fetches a page of the others",
            f"parked after {RUNS} runs with the reason; the others keep 90 % (1.11 fetches a page)",
            tuple(faults) if runs / pages < 1.11 else (*faults, "the others were slowed down"),
        )
    ]
