"""Worker threads on one process: the real page task on the ledger, without Celery."""

from __future__ import annotations

import json
import threading

import redis

from crawl_tasks.fetch.fetcher import Fetcher, build_client
from crawl_tasks.frontier.frontier import Frontier
from crawl_tasks.model import Stage
from crawl_tasks.registry.site_registry import SiteRegistry
from crawl_tasks.worker.page_task import PageTask
from crawl_tasks.worker.task_message import TaskMessage


class Workers:
    """Threads that work on whatever post stands first on the queue, as worker processes do."""

    def __init__(self, client: redis.Redis, frontier: Frontier, threads: int) -> None:
        self._client, self._frontier = client, frontier
        self._pages = PageTask(frontier, SiteRegistry(frontier, None), Fetcher(build_client("requests")))
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._work) for _ in range(threads)]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _work(self) -> None:
        while not self._over.is_set():
            message = self._client.rpop("post")
            if message is None:
                self._frontier.tick("me")
                self._over.wait(0.01)
                continue
            said = json.loads(json.loads(message)["body"])[1]
            self._pages.handle(TaskMessage(said["site"], Stage.POST, rid=said["rid"]))
