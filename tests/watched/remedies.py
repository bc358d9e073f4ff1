"""The commands of remedies, typed as they are printed in the state that they are for."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Iterator

import click

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.main import cli
from tests.watched.places import Installation, Row

_LOOKS = ("try", "status", "check", "failed list", "schedule list", "sites check")
_LAST = ("sites remove", "failed drop", "pause")
"""Ways out for a site that is not wanted: what is typed behind them finds nothing more."""
_ENDLESS = ("alerts", "exporter", "run")
_MADE_UP = {"BOARD": "1", "ADDRESS": "/post/100"}


def commands_in(remedy: str, subject: str) -> Iterator[list[str]]:
    """Return the commands that a remedy names, as a person types them: up to the first word that is none of it."""
    for match in re.finditer(r"crawl-tasks ([^;,()]+)", remedy):
        command: click.Command = cli
        typed: list[str] = []
        takes_value = False
        for word in match[1].split():
            inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
            if inner is None and not (takes_value or word.startswith("-") or (subject and subject in word)):
                break
            takes_value = word.startswith("-") and any(
                isinstance(one, click.Option) and word in one.opts and not one.is_flag for one in command.params
            )
            command = inner or command
            typed.append(word)
        yield typed


def typed_commands(rows: Iterable[Row], subject: str) -> list[list[str]]:
    """Return the commands of the remedies of a subject, each once."""
    commands = (typed for row in rows if row["subject"] == subject for typed in commands_in(row["remedy"], subject))
    return [list(typed) for typed in dict.fromkeys(map(tuple, commands))]


def is_look(typed: list[str]) -> bool:
    """Return whether a command changes nothing, so that a person types it first."""
    return " ".join(typed).startswith(_LOOKS) and "--revive" not in typed


def is_last(typed: list[str]) -> bool:
    """Return whether a command gives the site up."""
    return " ".join(typed).startswith(_LAST)


def type_it(there: Installation, typed: list[str]) -> Iterator[str]:
    """Type a command, and return what is wrong with its end.

    A look may find failures, and so may the reading of kept pages: here the forum is mended, and not the rules.
    """
    if typed[0] in _ENDLESS:
        there.world.start(typed[0], sys.executable, "-m", "crawl_tasks", *typed)
        return
    words = [re.sub("|".join(_MADE_UP), lambda match: _MADE_UP[match[0]], word) for word in typed]
    code, text = there.command(*words)
    may_fail = is_look(typed) or "--revive" in typed
    if code != Exit.OK and not (code in (Exit.FAILURES, Exit.BACKEND) and may_fail):
        yield f"{' '.join(words)} ended with {code}: {text.strip()[-200:]}"
    elif not text.strip():
        yield f"{' '.join(words)} says nothing"


def start_celery(there: Installation, rows: Iterable[Row]) -> int:
    """Start the processes that remedies name, and return how many those are."""
    remedies = " ".join(row["remedy"] for row in rows)
    lines = set(re.findall(r"celery -A crawl_tasks (?:worker -Q \w+|beat)", remedies))
    for number, line in enumerate(sorted(lines)):
        words = shlex.split(line)[1:]
        own = ["-n", f"typed{number}@%h"] if "worker" in words else []
        there.world.start(f"typed{number}", sys.executable, "-m", "celery", *words, *own)
    return len(lines)
