"""The door of the command line: finds a command, runs it, and gives each error one line and one exit code."""

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
from crawl_tasks.cli.helptext import examples
from crawl_tasks.errors import CrawlError
from crawl_tasks.local.interrupts import Terminated
from crawl_tasks.logs import hide_passwords

COMMANDS = {
    "demo": ("demo", "Crawl the bundled forum and compare the result with its ground truth."),
    "run": ("run", "Crawl with everything that takes, on this machine, and show the progress."),
    "status": ("status", "Show what every site has open, done and failed."),
    "top": ("top", "Show the busiest sites and what each needs."),
    "exporter": ("exporter", "Serve metrics for Prometheus and the status page."),
    "alerts": ("alerts", "Send messages when something needs a person."),
    "new": ("new", "Look at a forum and write its site file."),
    "try": ("try_", "Fetch a few pages of a site and show what is read, field by field."),
    "shell": ("shell", "Fetch a page and look at it from a Python prompt."),
    "sites": ("sites", "Check the site files and publish them to the workers."),
    "seed": ("seed", "Ask for boards, posts or addresses to be fetched."),
    "fetch": ("fetch", "Fetch one page here and now and show what is read from it."),
    "export": ("export", "Write posts and comments as JSON Lines or CSV."),
    "schedule": ("schedule", "Show and change when boards are scanned."),
    "pause": ("pause", "Stop fetching from a site, or all; what is open is kept."),
    "stop": ("stop", "Pause, and wait until nothing is being fetched."),
    "drain": ("drain", "Begin no new scan; finish what is open."),
    "resume": ("resume", "Go on after pause, stop or drain."),
    "dead": ("dead", "List, retry or drop requests that were given up (dead) or wait for a mended rule (parked)."),
    "shelf": ("shelf", "List, retry or drop pages whose items could not be stored."),
    "reparse": ("reparse", "Read pages that could not be read by the mended site file."),
    "refused": ("refused", "List, show, retry or drop messages that nobody can read."),
    "recover": ("recover", "Rebuild an emptied Redis from the database."),
    "fsck": ("fsck", "Hold guard, ledger, queues and database against each other."),
    "ledger": ("ledger", "Check that every request admitted is in exactly one place."),
    "doctor": ("doctor", "Look for what keeps this installation from working."),
    "redis": ("redis", "Run the embedded Redis in the foreground."),
    "bench": ("bench", "Measure a crawl of a local forum of 5,000 pages."),
    "version": ("version", "Print the version."),
}


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class Commands(click.Group):
    """The commands by name, each imported when it is used, so that `--help` and `status` start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order to learn them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
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
        """Find a command, or the name that was probably meant."""
        if args[0] not in COMMANDS and (alike := difflib.get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"there is no command {args[0]!r}; did you mean {alike[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; the outermost boundary of every error."""
        try:
            return super().invoke(ctx)
        except click.Abort as error:
            end_question(error, ctx)
        except (CrawlError, _redis_error(), BrokenPipeError, KeyboardInterrupt) as error:
            if ctx.params.get("debug") and not isinstance(error, (BrokenPipeError, KeyboardInterrupt)):
                raise
            end(error, ctx)


def _redis_error() -> type[Exception]:
    from redis.exceptions import RedisError  # noqa: PLC0415  # 0.1 s that `--help` does without

    return RedisError


def end(error: BaseException, ctx: click.Context) -> NoReturn:
    """Turn an error into a line and an exit code."""
    if isinstance(error, KeyboardInterrupt):
        ctx.exit(Exit.TERMINATED if isinstance(error, Terminated) else Exit.INTERRUPTED)
    if isinstance(error, BrokenPipeError):  # the reader has had enough: no word, as `head` expects
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ctx.exit(Exit.OK)
    if isinstance(error, CrawlError):
        complain(str(error))
        ctx.exit(error.exit_code)
    complain(f"Redis: {error}; is it running and is CRAWL_REDIS_URL right?")
    ctx.exit(Exit.BACKEND)


def end_question(error: click.Abort, ctx: click.Context) -> NoReturn:
    """Say what follows from a question that was not answered with yes."""
    click.echo(err=True)  # the cursor stands behind the question
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
        "crawl-tasks demo           # everything at once, on a forum that comes with it",
        "crawl-tasks doctor         # is this installation in order?",
        "crawl-tasks sites check    # are the files of config/sites right?",
        "crawl-tasks run            # crawl them until Ctrl-C",
    ),
)
@click.version_option(__version__, "--version", prog_name="crawl-tasks", message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show where an error came from.")
def cli(debug: bool) -> None:
    """Crawl forums: list pages, posts, comments; distributed, incremental, polite.

    Exit codes: 0 all is well, 1 the crawl had failures, 2 usage or configuration, 3 Redis or the database
    cannot be used, 130 ended by Ctrl-C, 143 by TERM.
    """


def carry_any_text() -> None:
    """Let no output be too narrow for a text: files and pipes get UTF-8, a terminal what it knows, the rest escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")


def main() -> None:
    """Run the command line."""
    carry_any_text()
    try:
        cli(prog_name="crawl-tasks")
    except OSError as error:
        if error.errno not in _FULL:
            raise
        complain(f"the output cannot be written: {error.strerror}; nothing else was changed by that")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter tries once more
        sys.exit(Exit.FAILURES)
