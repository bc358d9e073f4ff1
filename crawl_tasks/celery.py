"""Step 3: the Celery application: queues, transport, serialisation, the beat table.

The module is named by Celery's own convention: `celery -A crawl_tasks` looks for `crawl_tasks.celery.app`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from celery import Celery, Task
from kombu import Queue
from kombu.transport import TRANSPORT_ALIASES

from crawl_tasks.errors import SettingsError
from crawl_tasks.queues import PRODUCE, QUEUES, ROUTES, UPKEEP
from crawl_tasks.settings import Settings, load_settings

TRANSPORT = "crawl_tasks.broker.transport:Transport"
SENTINEL_TRANSPORT = "crawl_tasks.broker.transport:SentinelTransport"

UPKEEP_EVERY_S = 30.0

FLOWER_CONF = Path(__file__).with_name("flowerconfig.py")
"""What `celery -A crawl_tasks flower` reads unless it is given another file: Flower's only door is its environment."""


class CrawlTask(Task):  # type: ignore[type-arg]  # generic in the stubs only
    """Celery's task without what a worker would do twice."""

    Request = "crawl_tasks.broker.request:Request"

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Run; Celery's own would look first whether a worker calls it, which has made all ready."""
        return self.run(*args, **kwargs)


class CrawlApp(Celery):
    """Celery's application in the one time zone that this one is ever given."""

    def uses_utc_timezone(self) -> bool:
        """Say so without the look at the settings that Celery takes for every message."""
        return True


def build_app(settings: Settings) -> Celery:
    """Make the application for one installation; from now on `redis://` means our transport in this process."""
    # By kombu's own table of names: `broker_transport` would show in every URL, and Flower knows only redis://.
    TRANSPORT_ALIASES.update(redis=TRANSPORT, rediss=TRANSPORT, sentinel=SENTINEL_TRANSPORT)
    modules = ["crawl_tasks.tasks", "crawl_tasks.worker"]
    app: Celery = CrawlApp("crawl_tasks", include=modules, set_as_current=False, task_cls=CrawlTask)
    app.conf.update(
        broker_url=settings.redis_url,
        broker_transport_options={
            "redis_prefix": settings.redis_prefix,
            "master_name": settings.redis_master,
            # Only messages of others ever wait in `unacked`, and they are adopted at once.
            "visibility_timeout": 60,
            "unacked_restore_throttle": 1,
            "unacked_mutex_expire": 30,
            "socket_keepalive": True,
            # A silent connection is given up 21 s after its last word at most, a silent reply after 10 s.
            "socket_connect_timeout": 5,
            "socket_timeout": 10,
            "health_check_interval": 10,
        },
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,  # for ever
        broker_channel_error_retry=True,  # Redis refuses (read-only, memory): that passes
        # The name alone binds every queue to one key: give each its own.
        task_queues=[Queue(name, routing_key=name) for name in QUEUES],
        task_default_queue="control",
        task_routes={task: {"queue": queue} for task, queue in ROUTES.items()},
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        task_ignore_result=True,
        result_backend_thread_safe=True,  # there are no results, so one backend does for all threads
        # A message is acknowledged after the page, so that the prefetch bounds what a worker holds.
        task_acks_late=True,
        task_reject_on_worker_lost=True,
        worker_prefetch_multiplier=2,
        worker_disable_rate_limits=True,
        worker_hijack_root_logger=False,
        worker_pool="threads",
        worker_concurrency=16,
        worker_soft_shutdown_timeout=10.0,
        event_queue_expires=60.0,
        beat_schedule_filename=str(settings.state_dir / "beat-schedule"),
        beat_schedule={
            "produce": {
                "task": PRODUCE,
                "schedule": settings.produce_every_s,
                "options": {"expires": settings.produce_every_s * 2},
            },
            "upkeep": {"task": UPKEEP, "schedule": UPKEEP_EVERY_S, "options": {"expires": UPKEEP_EVERY_S * 2}},
        },
    )
    return app


os.environ.setdefault("FLOWER_CONF", str(FLOWER_CONF))

try:
    app = build_app(load_settings())
except SettingsError as error:  # the celery command would bury any other exception under its own traceback
    sys.stderr.write(f"crawl_tasks: {error}\n")
    raise SystemExit(error.exit_code) from None
