"""The crew: started, watched, restarted, and gone without a trace whatever happens to the supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from crawl_tasks.errors import ConfigError, CrawlError
from crawl_tasks.local.embedded import EmbeddedRedis, answers, running_url
from crawl_tasks.local.redis_server import RedisServer, port_near
from crawl_tasks.local.signals import Interrupts, Terminated
from crawl_tasks.local.state_lock import StateLock, is_held
from crawl_tasks.local.supervisor import Job, Supervisor
from tests.waiting import PATIENCE_S, eventually

SLEEP = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)")
STUBBORN = (
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)",
)
INTERRUPTS_US_WHEN_ASKED_TO_END = """\
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os.kill(os.getppid(), signal.SIGINT))
print("up", flush=True)
while True:
    time.sleep(0.1)
"""


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    with Interrupts() as interrupts:
        yield interrupts


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def crew(tmp_path: Path, interrupts: Interrupts, told: list[str]) -> Iterator[Supervisor]:
    with Supervisor(tmp_path, os.environ, interrupts, told.append, grace_s=0.2) as crew:
        yield crew


def is_up(log: Path) -> bool:
    return "up" in log.read_text("utf-8")


def test_all_children_are_gone_when_the_block_ends(tmp_path: Path, interrupts: Interrupts, told: list[str]) -> None:
    with Supervisor(tmp_path, os.environ, interrupts, told.append, grace_s=0.2) as crew:
        for name, argv in (("mild", SLEEP), ("stubborn", STUBBORN)):
            crew.start(Job(name, argv))
            eventually(lambda name=name: is_up(crew.log_of(name)))
        pids = [crew.pid("mild"), crew.pid("stubborn")]

    assert not any(psutil.pid_exists(pid) for pid in pids)


def test_what_a_child_started_is_gone_too(crew: Supervisor, tmp_path: Path) -> None:
    crew.start(Job("parent", ("sh", "-c", f"sleep 600 & echo $! > {tmp_path}/grandchild; wait")))
    file = tmp_path / "grandchild"
    eventually(lambda: file.is_file() and file.read_text().strip())

    crew.end()

    eventually(lambda: not is_alive(int(file.read_text())))


def is_alive(pid: int) -> bool:
    """A killed orphan may stay a zombie until init looks."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_child_that_dies_is_reported_with_its_last_words_and_started_again(crew: Supervisor, told: list[str]) -> None:
    crew.start(Job("worker", SLEEP))
    first = crew.pid("worker")
    eventually(lambda: is_up(crew.log_of("worker")))
    os.kill(first, signal.SIGKILL)

    eventually(lambda: crew.watch() or told)

    assert crew.pid("worker") != first
    [line] = told
    assert line.startswith("worker was killed by SIGKILL; its log ends: up (")
    assert line.endswith("started again")


def test_a_child_that_dies_again_and_again_ends_the_crawl(crew: Supervisor, told: list[str]) -> None:
    crew.short_life_s = PATIENCE_S
    crew.start(Job("worker", (sys.executable, "-c", "raise SystemExit('no such broker')")))

    with pytest.raises(CrawlError, match="ended 3 times in a row") as caught:
        eventually(crew.watch)

    assert "no such broker" in str(caught.value)
    assert len(told) == 2


def test_a_child_that_is_not_restarted_ends_the_crawl(crew: Supervisor, told: list[str]) -> None:
    crew.start(Job("forum", ("false",), is_restarted=False))

    with pytest.raises(CrawlError, match="forum ended with exit code 1; its log ends: empty"):
        eventually(crew.watch)


def test_a_program_that_is_not_there_is_one_clear_error(crew: Supervisor) -> None:
    with pytest.raises(CrawlError, match="ghost: /no/such/program cannot be started: No such file"):
        crew.start(Job("ghost", ("/no/such/program",)))


def test_higher_ranks_are_ended_first(crew: Supervisor, tmp_path: Path) -> None:
    script = "import signal, sys, time\ndef end(*_):\n open(sys.argv[1], 'a').write(sys.argv[2]); sys.exit()\n"
    script += "signal.signal(signal.SIGTERM, end); print('up', flush=True)\nwhile True: time.sleep(0.1)"
    for name, rank in (("a", 1), ("b", 3), ("c", 2)):
        crew.start(Job(name, (sys.executable, "-c", script, str(tmp_path / "order"), name), rank=rank))
        eventually(lambda name=name: is_up(crew.log_of(name)))
    crew.grace_s = PATIENCE_S

    crew.end()

    assert (tmp_path / "order").read_text() == "bca"


SUPERVISOR = """\
import os, sys
from pathlib import Path
from crawl_tasks.local.embedded import EmbeddedRedis
from crawl_tasks.local.signals import Interrupts
from crawl_tasks.local.supervisor import Supervisor, Job
state = Path(sys.argv[1])
with Interrupts() as interrupts, EmbeddedRedis(state, interrupts), Supervisor(
    state, os.environ, interrupts, print
) as crew:
    for name in ("a", "b"):
        script = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
        script += "; print('up', flush=True); time.sleep(600)"
        crew.start(Job(name, (sys.executable, "-c", script)))
        while b"up" not in (state / f"{name}.log").read_bytes():
            interrupts.sleep(0.01)
    crew.grace_s = 0.5
    (state / "pids").write_text(f"{crew.pid('a')} {crew.pid('b')} {interrupts.count}")
    if "fail" in sys.argv:
        raise RuntimeError("a bug")
    interrupts.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, "fail"])
def test_nothing_survives_the_supervisor(tmp_path: Path, how: signal.Signals | str) -> None:
    state = tmp_path / "state"
    arguments = [sys.executable, "-c", textwrap.dedent(SUPERVISOR), str(state), str(how)]
    supervisor = subprocess.Popen(arguments, stderr=subprocess.DEVNULL, start_new_session=True)
    pids = state / "pids"
    eventually(lambda: pids.is_file() and pids.read_text())
    if isinstance(how, signal.Signals):
        supervisor.send_signal(how)

    supervisor.wait(timeout=PATIENCE_S)

    children = [int(pid) for pid in pids.read_text().split()[:2]]
    eventually(lambda: not any(is_alive(pid) for pid in children))
    eventually(lambda: running_url(state) is None)
    if how is not signal.SIGKILL:  # nobody is left to remove the file then; the next start does
        assert not (state / "redis.url").exists()
    else:
        with Interrupts() as interrupts, EmbeddedRedis(state, interrupts):
            pass


def test_a_server_left_behind_is_ended_and_its_data_are_kept(tmp_path: Path, interrupts: Interrupts) -> None:
    left = EmbeddedRedis(tmp_path, interrupts)
    left._server.start()
    (tmp_path / "redis.url").write_text(left.url)

    with EmbeddedRedis(tmp_path, interrupts) as fresh:
        assert fresh.url != left.url
        assert not answers(left.url)
        assert running_url(tmp_path) == fresh.url

    left._server.stop()


def test_a_url_file_of_a_server_that_is_gone_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "redis.url").write_text("redis://127.0.0.1:1/0\n")

    assert running_url(tmp_path) is None


def test_two_supervisors_cannot_share_a_state_directory(tmp_path: Path) -> None:
    path = tmp_path / "crawl.lock"

    with StateLock(path, "a crawl runs here"):
        assert is_held(path)
        with pytest.raises(ConfigError, match=rf"a crawl runs here already \(process {os.getpid()}\)"):
            StateLock(path, "a crawl runs here").__enter__()

    assert not is_held(path)


def test_a_signal_inside_a_shield_is_raised_at_its_end(interrupts: Interrupts) -> None:
    seen = []

    def work() -> None:
        with interrupts.shield():
            with interrupts.shield():
                os.kill(os.getpid(), signal.SIGTERM)
                seen.append("inner")
            seen.append("outer")
        seen.append("after")

    with pytest.raises(Terminated):
        work()

    assert seen == ["inner", "outer"]
    assert interrupts.count == 1


def test_a_second_ctrl_c_saves_the_waiting(tmp_path: Path, interrupts: Interrupts, told: list[str]) -> None:
    crew = Supervisor(tmp_path, os.environ, interrupts, told.append, grace_s=600)
    crew.start(Job("stubborn", (sys.executable, "-c", INTERRUPTS_US_WHEN_ASKED_TO_END)))
    eventually(lambda: is_up(crew.log_of("stubborn")))
    pid = crew.pid("stubborn")

    with pytest.raises(KeyboardInterrupt):
        crew.end()

    assert not psutil.pid_exists(pid)


def test_a_port_in_use_is_replaced_by_a_free_one(redis_server: RedisServer) -> None:
    assert port_near(redis_server.port) != redis_server.port
