"""How a Celery worker and beat start and end: names, queues, logs, what is not run at all, the pacer."""

from __future__ import annotations

import gc
import logging
import os
import sys
from collections.abc import Mapping

from celery import signals
from celery.worker import WorkController
from kombu.transport.virtual import Message

from crawl_tasks.broker.transport import Channel
from crawl_tasks.errors import BackendError, ConfigError
from crawl_tasks.logs import configure_logs
from crawl_tasks.outage import Outage
from crawl_tasks.queues import CONTROL_QUEUE, DETAIL, DETAIL_QUEUES, LIST_QUEUE, QUEUES, STORE_QUEUE
from crawl_tasks.runtime import runtime

log = logging.getLogger(__name__)

_FETCHING = frozenset({LIST_QUEUE, DETAIL, *DETAIL_QUEUES})


@signals.celeryd_init.connect
def name_worker(sender: str, instance: WorkController, options: Mapping[str, object], **_: object) -> None:
    """Tell workers of one machine apart where `-n` names none: Celery calls all of them celery@HOST."""
    program, host = sender.split("@", 1)
    if program == "celery":
        queues = options.get("queues")
        served = "-".join(map(str, queues)) if isinstance(queues, list | tuple) else queues or program
        instance.hostname = f"{served}-{os.getpid()}@{host}"  # type: ignore[attr-defined]  # unknown to the stubs


@signals.celeryd_after_setup.connect
def name_queues(instance: WorkController, **_: object) -> None:
    """Let `-Q detail` stand for post and comment, and `-Q list` serve control as well.

    What beat sends is list work: looking for due boards. So list and detail workers, a store and beat are all it takes.
    """
    queues = instance.app.amqp.queues
    consumed = set(queues.consume_from)
    if strange := sorted(consumed - {DETAIL, *QUEUES}):
        sys.stderr.write(
            f"crawl_tasks: nothing is ever sent to the queue {', '.join(strange)};"
            f" there are: {', '.join((DETAIL, *QUEUES))}\n"
        )
    if DETAIL in consumed:
        queues.deselect(DETAIL)
        for name in DETAIL_QUEUES:
            queues.select_add(name)
    if LIST_QUEUE in consumed:
        queues.select_add(CONTROL_QUEUE)


@signals.celeryd_after_setup.connect
def furnish(instance: WorkController, **_: object) -> None:
    """Have ready what fetching takes before the first page, and before a pool of processes is forked.

    Raises:
        SystemExit: a setting is wrong; the reason is written to standard error.
    """
    if _FETCHING.intersection(instance.app.amqp.queues.consume_from):
        try:
            runtime().pages  # noqa: B018 (made when it is first looked at)
        except ConfigError as error:
            sys.stderr.write(f"crawl_tasks: {error}\n")
            raise SystemExit(error.exit_code) from None


@signals.celeryd_init.connect
@signals.beat_init.connect
def refuse_eviction(**_: object) -> None:
    """Do not start on a Redis that would throw the ledger away when its memory is full."""
    try:
        policy = runtime().frontier.vitals(()).eviction
    except BackendError:  # it is not there yet, and Celery waits for it
        return
    if policy not in ("noeviction", ""):
        sys.stderr.write(
            f"crawl_tasks: Redis has maxmemory-policy {policy}, which would throw the ledger away;"
            " set it to noeviction: CONFIG SET maxmemory-policy noeviction\n"
        )
        raise SystemExit(BackendError.exit_code)


class OutageFilter(logging.Filter):
    """Tells of a broker that is away as all processes do; Celery's beat writes two tracebacks at each of its turns."""

    def __init__(self, outage: Outage) -> None:
        super().__init__()
        self._outage = outage

    def filter(self, record: logging.LogRecord) -> bool:
        """Let through what is anything else."""
        from celery.beat import SchedulingError  # noqa: PLC0415  # 6 ms that only beat needs

        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, SchedulingError):
            return True
        self._outage.fail(error)
        return False


@signals.beat_init.connect
def tell_outages_once(**_: object) -> None:
    """Say when beat cannot send, and when it can again."""
    outage = Outage(log, "beat cannot send, no new scans begin; trying again at every turn")
    logging.getLogger("celery.beat").addFilter(OutageFilter(outage))
    signals.after_task_publish.connect(lambda **_: outage.end(), weak=False)


@signals.worker_ready.connect
def start_pacer(sender: WorkController, **_: object) -> None:
    """Start the clockwork, and spare the collector what lives as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    queues = sender.app.amqp.queues.consume_from
    runtime().pacer.start(queues)
    if STORE_QUEUE in queues:
        runtime().sentry.start()


@signals.task_unknown.connect
@signals.task_rejected.connect
def keep_for_later(message: Message, exc: Exception, **_: object) -> None:
    """Set a message aside that only a later version understands; Celery would drop it."""
    if isinstance(message.channel, Channel):
        message.channel.set_aside(message, f"{type(exc).__name__}: {exc}")


@signals.worker_shutting_down.connect
def stop_pacer(**_: object) -> None:
    """Give the floor to another process."""
    runtime().pacer.stop()
    if "sentry" in vars(runtime()):
        runtime().sentry.stop()


@signals.setup_logging.connect
def set_up_logs(loglevel: int | str | None = None, logfile: str | None = None, **_: object) -> None:
    """Write structured log lines in place of Celery's own format."""
    configure_logs(runtime().settings.log_format, loglevel, logfile)
