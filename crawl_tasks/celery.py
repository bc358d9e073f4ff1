"""The Celery application: queues, transport, serialisation and the schedule of beat.

The module has the name of Celery's own convention: `celery -A crawl_tasks` looks for `crawl_tasks.celery.app`.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

from celery import Celery, Task
from celery.schedules import schedule
from kombu import Queue
from kombu.transport import TRANSPORT_ALIASES

from crawl_tasks.broker.own_config import OwnLoader, OwnSettings, unused
from crawl_tasks.errors import SettingsError, TaskFailed
from crawl_tasks.queues import PRODUCE, QUEUES, ROUTES, UPKEEP
from crawl_tasks.settings import Settings, load_settings

TRANSPORT = "crawl_tasks.broker.transport:Transport"
SENTINEL_TRANSPORT = "crawl_tasks.broker.transport:SentinelTransport"

UPKEEP_EVERY_S = 30.0

CONTROL_MOST = 20
"""Beat sends no message where so many wait for a worker. Each one does the work of all after it."""

FLOWER_CONF = Path(__file__).with_name("flowerconfig.py")
"""The file that `celery -A crawl_tasks flower` reads unless another is named. Only the environment can name a file."""


class CrawlTask(Task):  # type: ignore[type-arg]  # generic in the stubs only
    """A Celery task without the checks that its worker has made already."""

    Request = "crawl_tasks.broker.celery_request:TaskRequest"
    # Logged without a traceback: the page task has logged the failure of the page.
    throws = (TaskFailed,)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run the task."""
        # Celery's own __call__ first finds out whether a worker calls, and else builds a request context. Here a worker
        # always calls.
        return self.run(*args, **kwargs)


class CrawlApp(Celery):
    """A Celery application whose time zone is always UTC, and whose connections come back within seconds."""

    amqp_cls = "crawl_tasks.broker.connection:CrawlAMQP"

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (Celery's signature)
        super().__init__(*args, **kwargs)
        # Celery has no place to name the class of its settings, and keeps this object for good.
        object.__setattr__(self._conf, "__class__", OwnSettings)  # type: ignore[attr-defined]  # not in the stubs

    def uses_utc_timezone(self) -> bool:
        """Return True: no setting changes the time zone."""
        # Celery asks this for every message, and its own method compares two time zones each time.
        return True


def _transport_options(settings: Settings) -> dict[str, object]:
    return {
        "redis_prefix": settings.redis_prefix,
        # Not by the expiry of messages: where beat's clock is seconds behind a worker's, all would come too late.
        "task_limits": dict.fromkeys((PRODUCE, UPKEEP), CONTROL_MOST),
        "master_name": settings.redis_master,
        # Keys of our own: with kombu's, a worker of ours would put back what workers of others have at hand.
        "unacked_key": f"{settings.redis_prefix}:unacked",
        "unacked_index_key": f"{settings.redis_prefix}:unacked_index",
        "unacked_mutex_key": f"{settings.redis_prefix}:unacked_mutex",
        # Only other programs' messages to our queues ever wait there, and they are adopted at once.
        "visibility_timeout": 60,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": 30,
        "socket_keepalive": True,
        # A silent connection is given up 21 s after its last word at most, a silent reply after 10 s.
        "socket_connect_timeout": 5,
        "socket_timeout": 10,
        "health_check_interval": 10,
    }


def _steady_now() -> datetime:
    """Return a time that no change of this machine's clock moves. Only differences count."""
    return datetime.fromtimestamp(monotonic(), UTC)


def _entry(task: str, every_s: float) -> dict[str, object]:
    """Return an entry of beat's schedule, due at once when beat starts."""
    every = schedule(timedelta(seconds=every_s), nowfun=_steady_now)
    return {"task": task, "schedule": every, "last_run_at": _steady_now() - timedelta(seconds=every_s)}


def build_app(settings: Settings) -> Celery:
    """Return the application of one installation. From now on `redis://` means our transport in this process."""
    # By kombu's own table of names: `broker_transport` would show in every URL, and Flower knows only redis://.
    TRANSPORT_ALIASES.update(redis=TRANSPORT, rediss=TRANSPORT, sentinel=SENTINEL_TRANSPORT)
    modules = [
        "crawl_tasks.tasks",
        *(f"crawl_tasks.worker.{name}" for name in ("options", "celery_signals", "remote_control")),
    ]
    settings = settings.own()
    app: Celery = CrawlApp("crawl_tasks", include=modules, set_as_current=False, task_cls=CrawlTask, loader=OwnLoader)
    app.conf.update(
        broker_url=settings.cells[0].url,
        broker_transport_options=_transport_options(settings),
        broker_connection_retry_on_startup=True,
        # For ever: by default Celery gives up after 100 tries, and a long outage of Redis would end every worker.
        broker_connection_max_retries=None,
        # Redis refuses writes while it is read-only or out of memory. Both pass.
        broker_channel_error_retry=True,
        # The name alone binds every queue to one key: give each its own.
        task_queues=[Queue(name, routing_key=name) for name in QUEUES],
        task_default_queue="control",
        task_routes={task: {"queue": queue} for task, queue in ROUTES.items()},
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        # There are no results, so one backend serves all threads.
        result_backend_thread_safe=True,
        # A message is acknowledged after the page, so that the prefetch bounds what a worker holds.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=2,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        # Threads mostly wait for forums: a polite site holds one for its latency in each delay.
        worker_concurrency=32,
        worker_soft_shutdown_timeout=10.0,
        event_queue_expires=60.0,
        # Without a file of the last runs, which a full disk or a read-only directory would break.
        beat_scheduler="celery.beat:Scheduler",
        # Beat goes by the wall clock else: set back by an hour, it would send nothing for that long.
        beat_schedule={
            "produce": _entry(PRODUCE, settings.produce_every_s),
            "upkeep": _entry(UPKEEP, UPKEEP_EVERY_S),
        },
    )
    return app


os.environ.setdefault("FLOWER_CONF", str(FLOWER_CONF))

try:
    app = build_app(load_settings())
    for line in unused(os.environ):
        sys.stderr.write(f"crawl_tasks: {line}\n")
except SettingsError as error:
    # SystemExit, because the celery command buries any other exception under its own traceback.
    sys.stderr.write(f"crawl_tasks: {error}\n")
    raise SystemExit(error.exit_code) from None
