"""A transaction that the server ended, or whose end is not known, is run again at once and stores nothing twice."""

from __future__ import annotations

import threading

import pytest
import redis
from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import NullPool

from crawl_tasks.model import Comment, Post
from crawl_tasks.store.upsert import Store
from tests.store.conftest import empty_schema
from tests.store.cut_at_commit import CutAtCommit
from tests.store.rows import page
from tests.store.waiting_items import Waiting
from tests.waiting import eventually


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_connection_lost_in_the_commit_loses_and_doubles_nothing(
    client: redis.Redis, postgres_server: str, moment: str
) -> None:
    url = make_url(empty_schema(postgres_server))
    with CutAtCommit(url.port or 5432).running() as relay:
        cut = url.set(host="127.0.0.1", port=relay.port).render_as_string(hide_password=False)
        with Store(cut) as store:
            waiting = Waiting(client, store)
            waiting.add(1)
            waiting.worker.run()
            waiting.add(2, 3)
            relay.arm(moment)

            said = waiting.worker.run()

            assert (said, relay.cuts) == ("2 pages", 1)
            assert waiting.stored() == ["1", "2", "3"]
            assert waiting.frontier.outbox.size() == 0


def test_the_victim_of_a_deadlock_is_run_again(postgres_server: str) -> None:
    url = make_url(empty_schema(postgres_server))
    hasty = url.update_query_dict({"options": f"{url.query['options']} -cdeadlock_timeout=10"})
    patient = url.update_query_dict({"options": f"{url.query['options']} -cdeadlock_timeout=600000"})
    other = create_engine(patient, poolclass=NullPool)  # so that the store is the victim, whoever waited first
    batch = [page(Post("1", 2.0, body="p"), Comment("1", "7", 2.0, body="c"))]
    with Store(hasty.render_as_string(hide_password=False)) as store, other.connect() as connection:
        store.write([page(Post("1", 1.0, body="b"), Comment("1", "7", 1.0, body="b"))])
        connection.execute(text("UPDATE comments SET author = 'x'"))
        asking = threading.Thread(target=connection.execute, args=(text("UPDATE posts SET author = 'x'"),))
        failed = _failures(store)

        def close_the_ring(*call: object) -> None:
            if str(call[2]).startswith("INSERT INTO comments") and not failed:  # the store holds the post by now
                asking.start()
                eventually(lambda: _waits(other))

        def let_go(*_: object) -> None:
            asking.join()
            connection.commit()

        event.listen(store.database.engine, "before_cursor_execute", close_the_ring)
        event.listen(store.database.engine, "rollback", let_go)
        written = store.write(batch)

        assert failed == ["40P01"]
        assert (written.changed_posts, written.changed_comments) == (1, 1)


def test_a_transaction_that_cannot_be_serialized_is_run_again(postgres_server: str) -> None:
    url = make_url(empty_schema(postgres_server))
    strict = url.update_query_dict({"options": f"{url.query['options']} -cdefault_transaction_isolation=serializable"})
    other = create_engine(url, poolclass=NullPool)
    with Store(strict.render_as_string(hide_password=False)) as store:
        store.write([page(Comment("1", "7", 1.0, body="b"))])
        failed = _failures(store)

        def change_between(*call: object) -> None:
            if str(call[2]).startswith("SELECT comments") and not failed:
                with other.begin() as connection:
                    connection.execute(text("UPDATE comments SET author = 'x'"))

        event.listen(store.database.engine, "before_cursor_execute", change_between)
        written = store.write([page(Comment("1", "7", 2.0, body="c"))])

    assert failed == ["40001"]
    assert written.changed_comments == 1


def _waits(engine: Engine) -> bool:
    """Return whether any session waits for a lock."""
    with engine.connect() as connection:
        return bool(connection.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one())


def _failures(store: Store) -> list[str]:
    """Note the state of every statement that the server refuses from now on."""
    failed: list[str] = []

    def note(context: object) -> None:
        failed.append(str(getattr(context.original_exception, "sqlstate", "")))  # type: ignore[attr-defined]

    event.listen(store.database.engine, "handle_error", note)
    return failed
