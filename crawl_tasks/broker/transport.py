"""The Redis transport of kombu, with one script that takes messages, and none that acknowledges hints.

Stock kombu takes a message with BRPOP and records the message in `unacked` by a second call. A worker that dies in
between has lost the message. Here one script does both, for up to k messages at a time, and our own hints are not
recorded at all: the frontier sends a lost one again. Keys and payloads are kombu's, so stock workers can share the
queues. A worker with empty queues waits for their wake-ups, lists of at most one element that every sender fills: one
message wakes one worker. Programs that publish by stock kombu wake nobody and are noticed within `wake_block_s`.

Overrides private names of kombu 5.7 (`_brpop_start`, `_brpop_read`, `_put`, `_restore`): the version is pinned and
tests/flow holds every one of them against a real worker.
"""

from __future__ import annotations

import logging
from importlib import resources
from queue import Empty
from time import monotonic, sleep, time
from typing import Any, ClassVar

from kombu.transport import redis as stock
from kombu.transport import virtual
from kombu.utils.encoding import bytes_to_str
from kombu.utils.json import dumps
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoPermissionError, NoScriptError, ResponseError

from crawl_tasks.broker.message import Message, is_hint, readable
from crawl_tasks.broker.qos import QoS
from crawl_tasks.frontier.envelope import HINT_MARK
from crawl_tasks.frontier.keys import wake_up
from crawl_tasks.queues import QUEUES

log = logging.getLogger(__name__)

MAX_TAKEN = 64
"""The most messages taken in one call, so that one worker does not take all from the others."""

OTHERS_WORK_S = 3540
"""Seconds more for which a task of a queue of somebody's own may run, or wait, until its worker counts as dead: an hour
with the `visibility_timeout` of our queues, as Celery's own."""

REPLIES = ".reply.celery.pidbox"
"""The end of the names of queues for the replies of workers to remote control."""

REFUSED_WAIT_S = 1.0

REFUSED_MOST_S = 30.0
"""After refusals for so long, in seconds, a new connection is made."""


class Channel(stock.Channel):
    """A channel that polls by receive.lua while there is work and by BLPOP of the wake-ups while there is none."""

    QoS = QoS
    Message = Message
    redis_prefix = "crawl"
    wake_block_s = 1
    task_limits: ClassVar[dict[str, int]] = {}
    """A message of such a task, by its name, is dropped where so many messages wait on its queue."""

    from_transport_options = (*stock.Channel.from_transport_options, "redis_prefix", "wake_block_s", "task_limits")

    _sha: str | None = None
    _is_waiting = False
    _hears_replies = False
    _is_idle = False
    _refused_since: float | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (kombu's signature)
        self._keys_of: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
        super().__init__(*args, **kwargs)

    @property
    def hears_replies_only(self) -> bool:
        """Whether this program serves no queue, as Flower or `celery inspect`. It needs no script, and may lack it."""
        queues = self.active_queues
        return bool(queues) and all(queue.endswith(REPLIES) for queue in queues)

    def _refresh_binding(self, keys: list[str], args: list[Any], client: Any) -> None:  # noqa: ANN401 (kombu's)
        """Keep a binding of an expiring queue. Kombu does it by a script for the sake of the server's clock."""
        key, deadlines = keys
        member, exchange, ttl_ms = args
        client.sadd(key, member)
        client.zadd(deadlines, {exchange: time() * 1000 + ttl_ms}, gt=True)

    def sweep_bindings(self, limit: int = 100) -> int:
        """Delete bindings that nobody refreshed. It takes a script, which Flower may not run, and workers do."""
        try:
            return int(super().sweep_bindings(limit))
        except NoPermissionError:
            return 0

    def _receive_sha(self) -> str:
        if self._sha is None:
            text = (resources.files("crawl_tasks.broker") / "receive.lua").read_text("utf-8")
            with self.conn_or_acquire() as client:
                self._sha = bytes_to_str(client.script_load(text))
        return self._sha

    def _brpop_start(self, timeout: float | None = None) -> None:
        queues = tuple(self._queue_cycle.consume(len(self.active_queues)))
        if not queues:
            return
        connection = self.client.connection
        wake_ups, lists = self._keys_of.get(queues) or self._name_keys(queues)
        self._hears_replies = self.hears_replies_only
        if self._hears_replies:
            command: list[object] = ["BRPOP", *lists, self.wake_block_s]
        elif self._is_idle:
            command = ["BLPOP", *wake_ups, self.wake_block_s]
        else:
            free = self.qos.can_consume_max_estimate()
            count = MAX_TAKEN if free is None else max(1, min(free, MAX_TAKEN))
            keys = [self.unacked_key, self.unacked_index_key, *wake_ups, *lists]
            command = ["EVALSHA", self._receive_sha(), len(keys), *keys]
            command += [repr(time()), count, self.sep, HINT_MARK, len(queues), OTHERS_WORK_S, *QUEUES]
        self._is_waiting, self._is_idle = self._is_idle, False
        self._in_poll = connection
        self._brpop_sent_at = monotonic()
        connection.send_command(*command)

    def _name_keys(self, queues: tuple[str, ...]) -> tuple[list[str], list[str]]:
        """Return the wake-ups and the lists of queues, in the order to serve them, which changes with every message."""
        wake_ups = [wake_up(self.redis_prefix, queue) for queue in queues]
        lists = [self._q_for_pri(queue, step) for step in self.priority_steps for queue in queues]
        # There are as many entries as orders of a worker's queues: 120 at most.
        self._keys_of[queues] = wake_ups, lists
        return wake_ups, lists

    def _brpop_read(self, **options: object) -> bool:
        client = self.client
        try:
            name = "BLPOP" if self._is_waiting else "EVALSHA"
            if self._hears_replies:
                name = "BRPOP"
            reply = client.parse_response(client.connection, name)
        # Redis was restarted and has forgotten the script.
        except NoScriptError:
            self._sha = None
            raise Empty from None
        except self.connection_errors:
            client.connection.disconnect()
            raise
        except ResponseError as error:
            self._sit_out(error)
            raise Empty from None
        finally:
            self._in_poll = None
        self._refused_since = None
        if self._hears_replies and reply:
            self._deliver(reply[1], bytes_to_str(reply[0]).partition(self.sep)[0])
            return True
        if self._is_waiting or self._hears_replies:
            raise Empty
        _, taken = reply
        if not taken:
            self._is_idle = True
            raise Empty
        for queue, messages in zip(taken[::2], taken[1::2], strict=True):
            name = bytes_to_str(queue)
            for message in messages:
                self._deliver(message, name)
            self._queue_cycle.rotate(name)
        return True

    def _sit_out(self, error: ResponseError) -> None:
        """Wait while Redis refuses commands: read-only, unable to save, or with a new password. Logged once."""
        now = monotonic()
        if self._refused_since is None:
            self._refused_since = now
            log.error("Redis gives no messages; trying again every second", extra={"error": str(error)})
        if now - self._refused_since > REFUSED_MOST_S:
            self._refused_since = None
            self.client.connection.disconnect()
            # Perhaps another server answers to this name by now.
            raise RedisConnectionError(str(error)) from error
        sleep(REFUSED_WAIT_S)

    def _deliver(self, message: bytes, queue: str) -> None:
        try:
            payload = readable(message)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            self._set_aside(message, queue, str(error))
            return
        # Celery uses the parts of a message unchecked, so any of these errors may come out of a strange one.
        try:
            self.connection._deliver(payload, queue)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            tag = payload["properties"]["delivery_tag"]
            # The error of a broken worker ends the worker, and its messages go back to their queues.
            if getattr(self.qos._delivered.get(tag), "is_sound", False):
                raise
            self._set_aside(message, queue, f"{type(error).__name__}: {error}")
            virtual.QoS.ack(self.qos, tag)

    def set_aside(self, message: virtual.Message, reason: str) -> None:
        """Keep a message that Celery would throw away. A hint need not be kept: the frontier sends a new one."""
        if not is_hint(message):
            self._set_aside(dumps(message._raw).encode(), message.delivery_info["routing_key"], reason)

    def _set_aside(self, message: bytes, queue: str, reason: str) -> None:
        log.error("message set aside that cannot be worked on", extra={"queue": queue, "reason": reason[:200]})
        if self.hears_replies_only:
            return
        text = (resources.files("crawl_tasks.broker") / "refuse.lua").read_text("utf-8")
        keys = [f"{self.redis_prefix}:refused", self.unacked_key, self.unacked_index_key]
        with self.conn_or_acquire() as client:
            client.eval(text, len(keys), *keys, f"{queue} {reason}", message)

    def put_back(self, message: virtual.Message) -> None:
        """Put a taken hint back to the end of the list from which messages are taken."""
        with self.conn_or_acquire() as client:
            client.rpush(message.delivery_info["routing_key"], dumps(message._raw))

    def _restore(self, message: virtual.Message, leftmost: bool = False) -> None:
        if is_hint(message):
            self.put_back(message)
        else:
            super()._restore(message, leftmost)

    def _put(self, queue: str, message: dict[str, Any], **kwargs: Any) -> None:  # noqa: ANN401 (kombu's signature)
        most = self.task_limits.get(message["headers"].get("task"))
        with self.conn_or_acquire() as client:
            if most is not None and client.llen(queue) >= most:
                return
            super()._put(queue, message, **kwargs)
            client.lpush(wake_up(self.redis_prefix, queue), 1)
            client.ltrim(wake_up(self.redis_prefix, queue), 0, 0)


class SentinelChannel(Channel, stock.SentinelChannel):
    """The same channel on the master that Sentinels name."""

    from_transport_options = (*Channel.from_transport_options, "master_name", "min_other_sentinels", "sentinel_kwargs")


class Poller(stock.MultiChannelPoller):
    """The poller by which a worker's event loop reads from Redis."""

    def on_poll_start(self) -> None:
        """Poll for messages if there is room, and pause during work, so that replies and ended tasks gather."""
        super().on_poll_start()
        if pause_s := max((channel.qos.pause_s() for channel in self._channels), default=0.0):
            sleep(pause_s)


class Transport(stock.Transport):
    """The transport of `redis://` URLs in the crawler's Celery application."""

    Channel = Channel

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (kombu's signature)
        super().__init__(*args, **kwargs)
        self.cycle = Poller()


class SentinelTransport(Transport):
    """The transport of `sentinel://` URLs there."""

    Channel = SentinelChannel
    default_port = 26379
