"""Celery signals: how a worker and beat start and end (names, logs, ticker, refusals to start)."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import warnings
from collections.abc import Mapping
from typing import Any

from celery import signals
from celery.worker import WorkController
from celery.worker.consumer import Consumer
from kombu.transport.virtual import Message

from crawl_tasks.broker.celery_request import TaskRequest
from crawl_tasks.broker.qos import QoS
from crawl_tasks.broker.transport import Channel
from crawl_tasks.errors import BackendError, ConfigError, TaskFailed
from crawl_tasks.frontier.inspect.inspector import Inspector
from crawl_tasks.logs import OutageLog, configure_logs
from crawl_tasks.permissions import keep_private
from crawl_tasks.queues import DETAIL, FETCH_QUEUES, STORE_QUEUE
from crawl_tasks.worker.hook_runner import GRACE_S
from crawl_tasks.worker.options import has_processes, refuse
from crawl_tasks.worker.page_chain import ChainPool
from crawl_tasks.worker.runtime import runtime
from crawl_tasks.worker.task_result import TaskResult

log = logging.getLogger(__name__)

_FETCHING = FETCH_QUEUES | {DETAIL}


@signals.celeryd_init.connect
def name_worker(sender: str, instance: WorkController, options: Mapping[str, object], **_: object) -> None:
    """Name a worker by its queues and its process where `-n` names none. Celery calls every worker celery@HOST."""
    program, host = sender.split("@", 1)
    if program == "celery":
        queues = options.get("queues")
        served = "-".join(map(str, queues)) if isinstance(queues, list | tuple) else queues or program
        instance.hostname = f"{served}-{os.getpid()}@{host}"  # type: ignore[attr-defined]  # the stubs lack it


@signals.celeryd_init.connect
def note_birth(**_: object) -> None:
    """Note that a worker begins. One that is killed or refused before its first heartbeat is missed by that."""
    runtime().ticker.note_birth()


@signals.celeryd_init.connect
@signals.beat_init.connect
def keep_files_private(**_: object) -> None:
    """Create files for the user of this process only. Not at an import: that may be another program's."""
    keep_private()


@signals.celeryd_after_setup.connect
def leave_out_advice(**_: object) -> None:
    """Leave out what Celery advises after each lost connection: to cancel the pages in hand, which are leased."""
    warnings.filterwarnings("ignore", r"\s*In Celery 5\.1 we introduced an optional", PendingDeprecationWarning)


@signals.celeryd_after_setup.connect
def forget_tasks_of_celery(instance: WorkController, **_: object) -> None:
    """Forget the tasks that every Celery application has: chord_unlock sends itself again for ever.

    They serve results, and groups of tasks as one message. A message of one is set aside like that of any unknown task.
    """
    tasks = instance.app.tasks
    for name in [name for name in tasks if name.startswith("celery.")]:
        tasks.unregister(name)


@signals.celeryd_after_setup.connect
def preload(instance: WorkController, **_: object) -> None:
    """Build the page task before the first page, and before a pool of processes is forked.

    Raises:
        SystemExit: a setting is wrong. The reason is written to standard error.
    """
    if _FETCHING.intersection(instance.app.amqp.queues.consume_from):
        try:
            runtime().page_task  # noqa: B018 (a cached property: access builds it)
        except ConfigError as error:
            refuse(str(error))


@signals.celeryd_init.connect
@signals.beat_init.connect
def refuse_redis(**_: object) -> None:
    """Refuse to start on a Redis that would delete the ledger when it is full, or that holds one of another format."""
    try:
        policy = Inspector(runtime().frontier).health(()).eviction
        runtime().frontier.check_format()
    except ConfigError as error:
        refuse(str(error))
    except BackendError as error:
        # Celery waits for its broker by itself, and tells of it in words of its own.
        sys.stderr.write(f"crawl_tasks: {error}; waiting for it\n")
        return
    if policy not in ("noeviction", ""):
        sys.stderr.write(
            f"crawl_tasks: Redis has maxmemory-policy {policy}, which would throw the ledger away;"
            " set it to noeviction: CONFIG SET maxmemory-policy noeviction\n"
        )
        raise SystemExit(BackendError.exit_code)


class OutageFilter(logging.Filter):
    """A log filter for beat: one line when the broker goes away, in place of two tracebacks at each try."""

    def __init__(self, outage: OutageLog) -> None:
        super().__init__()
        self._outage = outage

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a record is about anything but an outage of the broker."""
        # The import takes 6 ms, and only beat needs it.
        from celery.beat import SchedulingError  # noqa: PLC0415

        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, SchedulingError):
            return True
        self._outage.fail(error)
        return False


@signals.beat_init.connect
def tell_outages_once(**_: object) -> None:
    """Log when beat cannot send messages, and when beat can again."""
    outage = OutageLog(log, "beat cannot send, no new scans begin; trying again at every turn")
    logging.getLogger("celery.beat").addFilter(OutageFilter(outage))
    signals.after_task_publish.connect(lambda **_: outage.end(), weak=False)


@signals.worker_ready.connect
def start_ticker(sender: Consumer, **_: object) -> None:
    """Start the ticker, and tune the garbage collector for a long-lived process."""
    # Modules and compiled sites live as long as the process. Frozen, no collection walks over them again.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    queues = sender.app.amqp.queues.consume_from
    runtime().ticker.start(queues)
    if runtime().settings.idle_exit_s:
        runtime().idle_exit.start()
    if STORE_QUEUE in queues:
        runtime().ledger_watch.start()
    # Of a pool of processes this one has no page in hand: each process watches itself. A watch here would also freeze
    # each process that is forked later: faulthandler, with the interpreter's lock, waits there for our thread.
    if _FETCHING.intersection(queues) and not has_processes(sender.pool):
        threads = sender.controller.concurrency  # type: ignore[attr-defined]  # the stubs lack it
        runtime().watch_hangs(threads=threads, end=lambda: os.kill(os.getpid(), signal.SIGTERM), tell=tell_hung)
    if isinstance(sender.pool, ChainPool):
        _end_softly(sender, sender.pool)
        if runtime().settings.chain:
            _begin_chains(sender, sender.pool)


def _end_softly(consumer: Consumer, pool: ChainPool) -> None:
    controller: Any = consumer.controller  # type: ignore[attr-defined]  # the stubs lack it
    wait = controller.wait_for_soft_shutdown

    def wait_without_new_pages() -> None:
        pool.begin_no_more()
        wait()

    controller.wait_for_soft_shutdown = wait_without_new_pages


def _begin_chains(consumer: Consumer, pool: ChainPool) -> None:
    QoS.refill, QoS.elsewhere = pool.limit, staticmethod(lambda: pool.busy)
    if _FETCHING.intersection(consumer.app.amqp.queues.consume_from):
        page_task = runtime().page_task
        pool.serve(consumer, runtime().settings.chain, page_task.commits.give_back)
        page_task.chain = pool


def tell_hung(thread: int, result: TaskResult) -> None:
    """Send the event of a thread's task, a page that was failed as hung: Flower would show it as started for ever."""
    request = TaskRequest.of_thread.get(thread)
    if request is not None:
        request.send_event("task-failed", exception=repr(TaskFailed(str(result))), traceback="")


@signals.worker_process_init.connect
def watch_pool_process(**_: object) -> None:
    """Fail a page that hangs in a process of the pool. The pool ends the process by `--time-limit`."""
    runtime().watch_hangs()


@signals.task_unknown.connect
@signals.task_rejected.connect
def keep_for_later(message: Message, exc: Exception, **_: object) -> None:
    """Keep a message that only a later version understands. Celery would drop the message."""
    if isinstance(message.channel, Channel):
        message.channel.set_aside(message, f"{type(exc).__name__}: {exc}")


@signals.worker_shutting_down.connect
def stop_ticker(**_: object) -> None:
    """Stop the ticker and the ledger watch: another process becomes the leader."""
    runtime().ticker.stop()
    if (hang_watch := runtime().hang_watch) is not None:
        hang_watch.leave()
    # Only a store worker has one, and access would build it: a cached property is in vars() once it was used.
    if "ledger_watch" in vars(runtime()):
        runtime().ledger_watch.stop()


@signals.worker_shutdown.connect
@signals.worker_process_shutdown.connect
def finish(**_: object) -> None:
    """Wait a moment for the hooks, whose last events would else be lost with the process. Complete the archive."""
    runtime().hooks.finish(GRACE_S)
    # Only a fetching worker has these, as above.
    if "page_task" in vars(runtime()):
        runtime().page_task.close()
    if "archive" in vars(runtime()):
        runtime().archive.close()
    if traces := vars(runtime()).get("traces"):
        traces.close()


@signals.setup_logging.connect
def set_up_logs(loglevel: int | str | None = None, logfile: str | None = None, **_: object) -> None:
    """Write structured log lines in place of Celery's own format."""
    configure_logs(runtime().settings.log_format, loglevel, logfile)
