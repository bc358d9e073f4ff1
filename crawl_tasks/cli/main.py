"""The root of the command line: finds and runs a command, and turns each error into one line and one exit code.

A person who types the former name of a command gets the new one.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import io
import os
import sys
from typing import NoReturn

import click

from crawl_tasks import __version__
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.terminal import examples
from crawl_tasks.errors import CrawlError
from crawl_tasks.local.signals import Terminated
from crawl_tasks.logs import hide_passwords
from crawl_tasks.permissions import keep_private

COMMANDS = {
    "demo": ("demo", "Crawl the bundled forum and compare the result with its ground truth."),
    "run": ("run", "Crawl on this machine: start Redis, workers and beat, and show progress."),
    "status": ("status", "Show what each site has open, done and failed, and what it needs."),
    "exporter": ("exporter", "Serve metrics for Prometheus and the status page."),
    "alerts": ("alerts", "Send messages when something needs a person."),
    "new": ("new", "Look at a forum and write its site file."),
    "try": ("try_", "Read a few pages of a site now and show each field."),
    "shell": ("shell", "Fetch a page and open a Python prompt with it."),
    "sites": ("sites", "Check the site files and publish them to the workers; list, flush, move and remove sites."),
    "seed": ("seed", "Ask for boards, posts or addresses to be fetched."),
    "reread": ("reread", "Read archived pages by today's rules and correct the database."),
    "export": ("export", "Write posts and comments as JSON Lines, CSV or Parquet."),
    "search": ("search", "Find posts and comments by words, the newest first."),
    "schedule": ("schedule", "Show and change when boards are scanned."),
    "pause": ("pause", "Stop fetching from some sites or all, at once or when their open requests are done."),
    "resume": ("resume", "Fetch again from paused sites."),
    "failed": ("failed", "List, show, retry or drop failed pages, items, messages and start entries."),
    "check": ("check", "Check the ledger, the installation and the crawl. --deep compares more, --mend repairs."),
    "recover": ("recover", "Rebuild an emptied Redis from the database."),
    "redis": ("redis", "Run the embedded Redis in the foreground."),
    "bench": ("bench", "Measure a crawl of a local forum of 5,000 pages."),
}


# Disk full, quota used up, file too large, input/output error: reasons why output cannot be written.
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Commands(click.Group):
    """The commands by name. Each is imported at first use, so that `--help` and `status` start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order to learn them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, imported now."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"crawl_tasks.cli.{COMMANDS[cmd_name][0]}")
        command = module.command
        if not isinstance(command, click.Command):
            raise TypeError(f"{module.__name__}.command is no click command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of a command line. A misspelt name is an error with the right one."""
        if args[0] not in COMMANDS and (alike := difflib.get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"there is no command {args[0]!r}; did you mean {alike[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. This is the outermost boundary of every error."""
        try:
            return super().invoke(ctx)
        except click.Abort as error:
            end_question(error, ctx)
        except KeyboardInterrupt as error:  # apart: it may have cut off the import of the next clause
            ctx.exit(Exit.TERMINATED if isinstance(error, Terminated) else Exit.INTERRUPTED)
        except (CrawlError, _redis_error(), BrokenPipeError) as error:
            if ctx.params.get("debug") and not isinstance(error, BrokenPipeError):
                raise
            end(error, ctx)


def _redis_error() -> type[Exception]:
    # The import takes 0.1 s, which `--help` saves.
    from redis.exceptions import RedisError  # noqa: PLC0415

    return RedisError


def end(error: Exception, ctx: click.Context) -> NoReturn:
    """Turn an error into a line and an exit code."""
    # The reader has closed the pipe, as `head` does, and expects no message. Standard output becomes /dev/null, or the
    # interpreter would flush into the closed pipe at its end and complain.
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ctx.exit(Exit.OK)
    if isinstance(error, CrawlError):
        complain(str(error))
        ctx.exit(error.exit_code)
    complain(f"Redis: {error}; is it running and is CRAWL_REDIS_URL right?")
    ctx.exit(Exit.BACKEND)


def end_question(error: click.Abort, ctx: click.Context) -> NoReturn:
    """End a command whose question was not answered with yes."""
    # The cursor is still behind the question.
    click.echo(err=True)
    if isinstance(error.__context__, KeyboardInterrupt):
        ctx.exit(Exit.INTERRUPTED)
    if isinstance(error.__context__, EOFError):
        complain("nothing was changed: nobody answers here; --yes does it without asking")
        ctx.exit(Exit.USAGE)
    complain("nothing was changed")
    ctx.exit(Exit.FAILURES)


def complain(message: str) -> None:
    """Print an error on stderr, without the passwords of URLs."""
    click.echo(f"crawl-tasks: {hide_passwords(message)}", err=True)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=examples(
        "crawl-tasks demo           # the whole crawler, on a bundled forum",
        "crawl-tasks check          # check the ledger, the installation and the crawl",
        "crawl-tasks sites check    # check the files of config/sites",
        "crawl-tasks run            # crawl them until Ctrl-C",
    ),
)
@click.version_option(__version__, "--version", prog_name="crawl-tasks", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
def cli(debug: bool) -> None:
    """Crawl forums: list pages, posts, comments; distributed, incremental, polite.

    Exit codes: 0 all is well, 1 the crawl had failures, 2 usage or configuration, 3 Redis or the database
    cannot be used, 4 the rest of a crawl cannot move, 130 ended by Ctrl-C, 143 by TERM.
    """


def carry_any_text() -> None:
    """Make standard output take any text: UTF-8 for files and pipes, escapes for unknown letters on a terminal."""
    # Under a narrow locale, such as C, a single foreign letter would otherwise end the command with a traceback.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def main() -> None:
    """Run the command line."""
    keep_private()
    carry_any_text()
    try:
        cli(prog_name="crawl-tasks")
    except OSError as error:
        if error.errno not in _FULL:
            raise
        complain(f"the output cannot be written: {error.strerror}; nothing else was changed by that")
        # Otherwise the interpreter tries to flush once more at its end, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.FAILURES)
