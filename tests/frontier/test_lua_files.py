"""The Lua files: each keeps the promises of its header, and has and includes what it uses."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import crawl_tasks
from crawl_tasks.frontier.redis_functions import Verb, header, prelude, read_lua

PACKAGE = Path(crawl_tasks.__file__).parent
FILES = [*prelude(), *Verb]
SET_BY_RUN = {"P", "CALL"}
BUILT_IN = "ipairs pairs tonumber tostring unpack type pcall select error"
KEYWORDS = "and or not if while until elseif return in function"


@pytest.mark.parametrize("verb", list(Verb))
def test_a_script_keeps_the_promises_of_its_header(verb: Verb) -> None:
    text = read_lua(verb)
    head = text.split("\n\n")[0]
    code = "\n".join(line.split("--")[0] for line in text.splitlines())
    documented = [int(n) for n in re.findall(r"^-- ARGV (\d+)", head, re.M)]
    used = [int(n) for n in re.findall(r"ARGV\[(\d+)\]", code)]

    assert head.startswith("-- ")
    assert "-- KEYS 1: key prefix" in head
    assert max(used, default=0) <= max(documented, default=0)
    assert "-- RETURNS 0:" in head
    if "return lease_request(" in code:  # a commit leases too
        code += code_of("lib/lease")
    returned = set(re.findall(r"return \{(-?\d+)", code)) | set(re.findall(r"and (-\d+)\)", code))
    assert returned == set(re.findall(r"^-- RETURNS (-?\d+):", head, re.M))


def code_of(file: str) -> str:
    return "\n".join(line.split("--")[0] for line in read_lua(file).splitlines())


def names_of(file: str) -> set[str]:
    """What a file has for those that include it."""
    return {*header(file, "EXPORTS"), *header(file, "SHARES")}


@pytest.mark.parametrize("part", prelude())
def test_a_file_of_the_prelude_exports_what_its_header_says_and_others_use(part: str) -> None:
    code = code_of(part)
    including = [file for file in FILES if part in header(file, "INCLUDES")]
    outside = [file for file in including if file in list(Verb) or file.partition("/")[0] != part.partition("/")[0]]
    defined = set(re.findall(r"^function (\w+)", code, re.M)) | {
        name.strip()
        for names in re.findall(r"^((?!local )[A-Za-z_][A-Za-z_, ]*) = ", code, re.M)
        for name in names.split(",")
    }

    assert defined == names_of(part) - SET_BY_RUN
    for field, users in (("EXPORTS", outside if part.partition("/")[0] != "lib" else including), ("SHARES", including)):
        used = "\n".join(map(code_of, users))
        unused = {name for name in header(part, field) if not re.search(rf"\b{name}\b", used)}
        assert unused - SET_BY_RUN - {"run"} == set()


@pytest.mark.parametrize("file", FILES)
def test_a_file_includes_what_it_uses_and_nothing_else(file: str) -> None:
    code = re.sub(r"'[^'\n]*'", "''", code_of(file))
    own = set(re.findall(r"function (\w+)", code))
    own |= {name.strip() for names in re.findall(r"function[\w. ]*\(([^)]*)\)", code) for name in names.split(",")}
    named = re.findall(r"(?:local|function \w*\(|function\() *([\w, ]+)", code)
    own |= {name.strip() for names in named for name in names.split(",")}
    called = set(re.findall(r"(?<![.:\w])(\w+)\(", code))
    included = {part: names_of(part) for part in header(file, "INCLUDES")}

    assert called - own - {*BUILT_IN.split(), *KEYWORDS.split()} - set().union(*included.values()) == set()
    for part, names in included.items():
        assert names & set(re.findall(r"\b\w+\b", code)), f"nothing of {part} is used"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.lua")), ids=lambda path: path.stem)
def test_no_line_of_lua_is_longer_than_120_columns(path: Path) -> None:
    assert [line for line in path.read_text("utf-8").splitlines() if len(line) > 120] == []


@pytest.mark.skipif(shutil.which("luacheck") is None, reason="needs luacheck (Debian: lua-check)")
def test_luacheck_finds_nothing_in_the_lua_files() -> None:
    checked = subprocess.run(
        ["luacheck", "--quiet", "--no-color", "crawl_tasks"], cwd=PACKAGE.parent, capture_output=True, text=True
    )

    assert (checked.returncode, checked.stdout.splitlines()[:-1]) == (0, [])


@pytest.mark.parametrize("file", FILES)
def test_no_script_runs_an_unbounded_command(file: str) -> None:
    code = "\n".join(line for line in read_lua(file).splitlines() if "-- bounded" not in line)

    for command in ("KEYS'", "SMEMBERS", "HVALS", "FLUSH", "'LRANGE', key, 0, -1"):
        assert command not in code
