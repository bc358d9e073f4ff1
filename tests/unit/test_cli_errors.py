"""Bad input and absent servers: one clear line, the right exit code, no traceback, no password, nothing lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from crawl_tasks import __version__
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.main import COMMANDS
from crawl_tasks.local.redis_server import RedisServer
from crawl_tasks.local.state_lock import StateLock
from crawl_tasks.logs import hide_passwords
from tests.unit.command_line import run, site_text, write_site


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("seed",), ("status", "--nonsense"), ("seed", "tiny")])
def test_wrong_usage_ends_with_2_and_says_how_to_do_it(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "Usage: " in result.stderr


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_a_help_that_ends_in_examples(tmp_path: Path, command: str) -> None:
    result = run(command, "--help", home=tmp_path)

    assert result.exit_code == Exit.OK
    assert f"  crawl-tasks {command}" in result.stdout.split("Examples:")[1]
    assert (
        re.findall(r"[a-z,;]\.\.\.$|INTEGER|FLOAT|TEXT", result.stdout, re.MULTILINE) == []
    )  # cut off; types for people


@pytest.mark.parametrize(
    "arguments",
    [
        ("status",),
        ("status", "--json"),
        ("pause", "tiny"),
        ("resume", "tiny"),
        ("seed", "tiny", "--post", "1"),
        ("failed", "list"),
        ("failed", "retry", "--site", "tiny"),
        ("sites", "check"),
        ("run", "--until-idle"),
    ],
)
def test_unreachable_redis_is_one_line_and_exit_code_3(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write_site(tmp_path, site_text())

    result = run(*arguments, home=tmp_path, redis_url="redis://me:secret@127.0.0.1:1/0")

    assert result.exit_code == Exit.BACKEND
    [line] = result.stderr.splitlines()
    assert line.startswith("crawl-tasks: Redis at redis://me:***@127.0.0.1:1/0 does not answer")
    assert "CRAWL_REDIS_URL" in line
    assert "secret" not in result.output


def test_a_redis_that_wants_a_password_is_told_from_one_that_is_not_there(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    url = redis_server.url.replace("://", "://nobody:wrong@")

    result = run("status", home=tmp_path, redis_url=url)

    [line] = result.stderr.splitlines()
    assert (result.exit_code, "wants another user or password" in line, "wrong" in line) == (Exit.BACKEND, True, False)


def test_a_database_that_redis_does_not_have_is_told_from_a_redis_that_is_not_there(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    result = run("status", home=tmp_path, redis_url=redis_server.url.rpartition("/")[0] + "/99")

    [line] = result.stderr.splitlines()
    assert (result.exit_code, "/99 refuses: DB index is out of range; set CRAWL_REDIS_URL" in line) == (
        Exit.BACKEND,
        True,
    )


def test_sentinels_that_are_not_there_are_told_without_the_attributes_of_clients(tmp_path: Path) -> None:
    result = run("status", home=tmp_path, redis_url="sentinel://127.0.0.1:1/0;sentinel://127.0.0.1:2")

    [line] = result.stderr.splitlines()
    assert "No master found for 'mymaster'; start one" in line


def test_a_bench_leaves_another_one_of_its_directory_alone(tmp_path: Path) -> None:
    (kept := tmp_path / "state" / "bench" / "crawl.db").parent.mkdir(parents=True)
    kept.touch()
    with StateLock(tmp_path / "state" / "bench.lock", "a bench runs here"):
        result = run("bench", home=tmp_path)

    assert (result.exit_code, kept.exists()) == (Exit.USAGE, True)
    assert "a bench runs here already" in result.stderr


def test_a_bench_whose_directory_cannot_be_made_ends_with_a_line(tmp_path: Path) -> None:
    (tmp_path / "state").touch()

    result = run("bench", home=tmp_path)

    [line] = result.stderr.splitlines()
    assert (result.exit_code, line.endswith("set CRAWL_STATE_DIR")) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "nonsense", "redis://127.0.0.1:notaport/0", "http://x", "redis://127.0.0.1:1/forum"],
)
def test_a_redis_url_that_is_none_is_a_wrong_setting(tmp_path: Path, url: str) -> None:
    result = run("status", home=tmp_path, redis_url=url)

    assert result.exit_code == Exit.USAGE
    [line] = result.stderr.splitlines()
    assert "CRAWL_REDIS_URL" in line


def test_a_setting_out_of_range_names_its_variable(tmp_path: Path) -> None:
    result = run("status", home=tmp_path, store_batch="many")

    assert result.exit_code == Exit.USAGE
    assert "CRAWL_STORE_BATCH" in result.stderr


def test_a_redis_that_wants_another_password_is_one_line(tmp_path: Path, redis_server: RedisServer) -> None:
    url = redis_server.url.replace("redis://", "redis://me:wrong@")

    result = run("status", home=tmp_path, redis_url=url)

    assert result.exit_code == Exit.BACKEND
    assert len(result.stderr.splitlines()) == 1
    assert "wrong@" not in result.output


def test_the_mistakes_of_all_site_files_are_shown_with_line_and_remedy(tmp_path: Path) -> None:
    write_site(tmp_path, site_text().replace("window: 4", "window: 0").replace("boards:", "bords:"))
    write_site(tmp_path, "name: other\nbase: nonsense\n", "other")

    result = run("sites", "check", "--no-publish", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    assert "tiny.yaml:4: bords: is not a key here; did you mean 'boards'?" in result.stderr
    assert "tiny.yaml:5: gate.window:" in result.stderr
    assert "other.yaml:2: base:" in result.stderr
    assert "Traceback" not in result.output


def test_a_broken_site_file_changes_nothing_that_is_published(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis
) -> None:
    write_site(tmp_path, site_text())
    run("sites", "check", home=tmp_path, redis_url=redis_server.url)
    before = client.hgetall("test:s:tiny")
    write_site(tmp_path, "name: tiny\nbase: [\n")

    result = run("run", "--until-idle", home=tmp_path, redis_url=redis_server.url)

    assert result.exit_code == Exit.USAGE
    assert "tiny.yaml" in result.stderr
    assert client.hgetall("test:s:tiny") == before


@pytest.mark.parametrize("arguments", [("sites", "check", "--no-publish"), ("run", "--until-idle")])
def test_a_public_site_without_contact_is_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write_site(tmp_path, site_text(base="https://forum.example", private=""))

    result = run(*arguments, home=tmp_path)

    assert result.exit_code == Exit.USAGE
    [line] = result.stderr.splitlines()
    assert "CRAWL_CONTACT" in line


def test_a_database_that_cannot_be_made_is_one_line_and_exit_code_3(tmp_path: Path, redis_server: RedisServer) -> None:
    write_site(tmp_path, site_text())
    (tmp_path / "file").write_text("in the way")

    result = run("run", home=tmp_path, redis_url=redis_server.url, database_url=f"sqlite:///{tmp_path}/file/crawl.db")

    assert result.exit_code == Exit.BACKEND
    [line] = result.stderr.splitlines()
    assert "file/crawl.db" in line


def test_a_state_directory_that_cannot_be_made_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    write_site(tmp_path, site_text())
    (tmp_path / "state").write_text("in the way")

    result = run("run", home=tmp_path)

    assert result.exit_code == Exit.USAGE
    [line] = result.stderr.splitlines()
    assert "CRAWL_STATE_DIR" in line


def test_debug_shows_where_an_error_came_from(tmp_path: Path) -> None:
    result = run("--debug", "status", home=tmp_path)

    assert result.exit_code != Exit.OK
    assert type(result.exception).__name__ == "RedisUnreachable"


def test_a_reader_that_goes_away_ends_the_output_quietly(tmp_path: Path) -> None:
    write_site(tmp_path, site_text())
    command = f"{sys.executable} -m crawl_tasks sites check --no-publish | true; exit ${{PIPESTATUS[0]}}"
    env = os.environ | {"CRAWL_SITES_DIR": str(tmp_path / "sites")}

    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=tmp_path, env=env)

    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("module", ["click", "redis.asyncio"])
def test_ctrl_c_is_quiet_also_while_the_command_is_still_being_imported(tmp_path: Path, module: str) -> None:
    code = (
        "import sys, crawl_tasks.__main__ as door\n"
        "class Pressed:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Pressed()); door.main()"
    )

    ended = subprocess.run([sys.executable, "-c", code, "status"], capture_output=True, text=True, cwd=tmp_path)

    assert (ended.returncode, ended.stdout, ended.stderr) == (Exit.INTERRUPTED, "", "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_no_text_is_too_much_for_a_narrow_encoding(
    tmp_path: Path, redis_server: RedisServer, client: redis.Redis, encoding: str
) -> None:
    client.lpush("test:refused", "post 论坛\n")
    env = os.environ | {"CRAWL_REDIS_URL": redis_server.url, "CRAWL_REDIS_PREFIX": "test", "PYTHONIOENCODING": encoding}

    command = [sys.executable, "-m", "crawl_tasks", "failed", "list"]
    ended = subprocess.run(command, capture_output=True, cwd=tmp_path, env=env)

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "post: 论坛" in ended.stdout.decode()


def test_a_command_that_is_almost_one_is_named(tmp_path: Path) -> None:
    assert "did you mean status?" in run("statsu", home=tmp_path).stderr


@pytest.mark.parametrize("option", ["--out", "--report"])
def test_a_result_without_a_place_ends_a_run_before_it_begins(tmp_path: Path, option: str) -> None:
    write_site(tmp_path, site_text())

    result = run("run", "--until-idle", option, str(tmp_path / "no" / "file"), home=tmp_path)

    assert result.exit_code == Exit.USAGE
    [line] = result.stderr.splitlines()
    assert line.startswith(f"crawl-tasks: {option} ")


def test_the_version_is_an_option(tmp_path: Path) -> None:
    assert run("--version", home=tmp_path).stdout == f"crawl-tasks {__version__}\n"


@pytest.mark.parametrize(
    ("listen", "said"),
    [("192.0.2.1:9817", "name an address of this machine"), ("127.0.0.1:99999", "a port up to 65535")],
)
def test_an_exporter_that_cannot_listen_says_what_to_choose(
    tmp_path: Path, redis_server: RedisServer, listen: str, said: str
) -> None:
    result = run("exporter", "--listen", listen, home=tmp_path, redis_url=redis_server.url)

    assert result.exit_code == Exit.USAGE
    assert said in result.stderr


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("sites", "check", "--no-publish")])
def test_output_that_cannot_be_written_is_one_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    write_site(tmp_path, site_text())
    env = os.environ | {"CRAWL_SITES_DIR": str(tmp_path / "sites")}

    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "crawl_tasks", *arguments]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=env)

    assert ended.returncode == Exit.FAILURES
    [line] = ended.stderr.splitlines()
    assert line.startswith("crawl-tasks: the output cannot be written: No space left on device")


@pytest.mark.parametrize(
    "odd",
    [
        {"LANG": "C", "LC_ALL": "C"},
        {"TZ": "Nowhere"},
        {"PYTHONIOENCODING": "ascii"},
        {"COLUMNS": "1"},
        {"TERM": "dumb"},
    ],
    ids=str,
)
def test_an_odd_environment_changes_nothing(tmp_path: Path, odd: dict[str, str]) -> None:
    write_site(tmp_path, site_text().replace("name: tiny", "name: tiny\ntitle: 论坛"))
    env = {"PATH": os.environ["PATH"], "CRAWL_SITES_DIR": str(tmp_path / "sites")} | odd  # there is no HOME
    command = [sys.executable, "-m", "crawl_tasks", "sites", "check", "--no-publish"]

    ended = subprocess.run(command, capture_output=True, cwd=tmp_path, env=env)

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"tiny: OK: http://127.0.0.1:8765" in ended.stdout


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:secret@h:1/0 is away", "redis://:***@h:1/0 is away"),
        ("postgresql://me:s:e@c@h/db", "postgresql://me:***@h/db"),
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/0"),
        ("http://a:8765/x and http://b/y@z", "http://a:8765/x and http://b/y@z"),
    ],
)
def test_passwords_in_addresses_are_hidden(text: str, shown: str) -> None:
    assert hide_passwords(text) == shown
