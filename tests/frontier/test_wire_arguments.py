"""The arguments of commit and fail: what Python sends under a name is what Lua has under it, on a real server."""

from __future__ import annotations

import json
import re
from enum import StrEnum

import pytest
import redis

from crawl_tasks.errors import Scope
from crawl_tasks.frontier.redis_functions import NAMED_ARGUMENTS, Verb, header, prelude, read_lua
from crawl_tasks.frontier.wire.lease_end import CommitFields, CommitOutcome, FailFields
from crawl_tasks.frontier.wire.site_terms import FieldType
from crawl_tasks.frontier.wire.writer import lua_locals
from crawl_tasks.model import State

WORDS = {
    Scope: r"scope [=~]= '(\w+)'",
    State: r"state [=~]= '(\w+)'",
    CommitOutcome: r"outcome(?: [=~]= |, 1, 5\) [=~]= |, )'\^?\(?(\w+)\)?:(?:list|post|comment)?'",
}
CLASSES: dict[Verb, type[CommitFields | FailFields]] = {Verb.COMMIT: CommitFields, Verb.FAIL: FailFields}
SENT = {FieldType.NUMBER: (17, 17), FieldType.FLAG: (1, True)}


@pytest.mark.parametrize("verb", NAMED_ARGUMENTS)
def test_lua_has_each_argument_under_its_name_and_by_its_type(verb: Verb, client: redis.Redis) -> None:
    rows = NAMED_ARGUMENTS[verb]
    table = ", ".join(f"{row.name} = {row.name}" for row in rows)
    probe = f"{lua_locals(rows)}\nreturn cjson.encode({{FIRST = FIRST, line = ARGV[FIRST], {table}}})"
    values = {row.name: SENT.get(row.type, (f"text {row.name}", f"text {row.name}")) for row in rows}

    reply = client.eval(probe, 0, *CLASSES[verb](**{name: sent for name, (sent, _) in values.items()}), "a line")

    read = {name: read for name, (_, read) in values.items()}
    assert json.loads(reply) == {"FIRST": len(rows) + 1, "line": "a line"} | read


@pytest.mark.parametrize("verb", NAMED_ARGUMENTS)
def test_a_script_reads_each_of_its_arguments_and_by_name_alone(verb: Verb) -> None:
    code = "\n".join(line.split("--")[0] for line in read_lua(verb).splitlines())
    headers = "\n".join(name for part in prelude() for name in header(part, "EXPORTS"))
    names = {row.name for row in NAMED_ARGUMENTS[verb]}

    assert {name for name in names if not re.search(rf"\b{name}\b", code)} == set()
    assert names & set(headers.split()) == set()
    assert re.findall(r"ARGV\[\d", code) == []
    assert [row.name for row in NAMED_ARGUMENTS[verb]][:3] == [
        "name",
        "rid",
        "token",
    ]  # answers.lua names a call by them


@pytest.mark.parametrize("kind", WORDS, ids=lambda kind: kind.__name__)
def test_the_words_that_commit_and_fail_compare_are_those_that_python_sends(kind: type[StrEnum]) -> None:
    named = {word for verb in NAMED_ARGUMENTS for word in re.findall(WORDS[kind], read_lua(verb))}

    assert named
    assert named <= set(kind)
