"""The chain of a thread: it ends after so many pages, and gives the lease of a page back that no task took."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from celery import Celery

from crawl_tasks.frontier.envelope import HINT_END
from crawl_tasks.frontier.replies import NextPage
from crawl_tasks.model import Lease, Request, Stage
from crawl_tasks.worker.page_chain import ChainPool

TASK = "crawl_tasks.fetch_post"


def next_page(rid: int) -> NextPage:
    properties = {"delivery_tag": "", "delivery_info": {"routing_key": "post"}}
    headers = {"task": TASK, "id": str(rid), "crawl_at": 1}
    body = f"[[],{json.dumps({'site': 'demo', 'rid': rid})},{HINT_END}"
    message = {"body": body, "content-type": "application/json", "headers": headers, "properties": properties}
    request = Request("demo", Stage.POST, str(rid), f"http://127.0.0.1/{rid}")
    return NextPage(json.dumps(message).encode(), Lease(rid, 1, 1, request, "v1", 0, 0))


def chain_of(most: int, strategy: Callable[[ChainPool, Callable[[], None]], None]) -> tuple[int, list[int]]:
    """Run a chain whose pages always have another one; return its number of pages, and the leases given back."""
    pages, given_back = [0], list[int]()
    pool = ChainPool(limit=1)

    def page() -> None:
        pages[0] += 1
        assert pages[0] < 50
        lease = pool.lease_of("demo", pages[0] - 1)
        assert pages[0] == 1 or lease is not None
        if pool.queues():
            pool.hand_over(next_page(pages[0]))

    app = Celery(set_as_current=False)
    app.conf.task_queues = None
    app.amqp.queues.select(["post"])
    consumer = SimpleNamespace(
        app=app, strategies={TASK: lambda *_: strategy(pool, page)}, on_task_message=(), call_soon=lambda *_: None
    )
    pool.serve(consumer, most, lambda lease: given_back.append(lease.rid))
    pool._run(lambda *_: page(), (), {}, lambda *_: None)
    return pages[0], given_back


@pytest.mark.parametrize("most", [0, 1, 7])
def test_a_chain_ends_after_so_many_pages(most: int) -> None:
    assert chain_of(most, lambda _, page: page()) == (1 + most, [])


def test_the_lease_of_a_page_that_was_revoked_is_given_back() -> None:
    assert chain_of(5, lambda *_: None) == (1, [1])
