"""Decisions of operators in the database: one row a subject, the newest."""

from __future__ import annotations

from itertools import permutations

import pytest

from crawl_tasks.model import Decision
from crawl_tasks.store.upsert import Store


@pytest.mark.parametrize("order", list(permutations([5, 7, 9])))
def test_the_newest_decision_stands_in_whatever_order_they_arrive(store: Store, order: tuple[int, ...]) -> None:
    for at in order:
        for site in ("one", "two"):
            store.decide([Decision(site, "gate", "pause", at, why=str(at), text="[]")], "test:")
    store.decide([Decision("two", "gate", "run", 11, text="[]")], "test:")

    assert [(one.site, one.value, one.at_ms, one.why) for one in store.decisions("test:")] == [
        ("one", "pause", 9, "9"),
        ("two", "run", 11, ""),
    ]
