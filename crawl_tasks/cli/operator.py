"""The person at this terminal, who decides with a reason, and is told where a decision waits for the database."""

from __future__ import annotations

import getpass
import os
import socket

import click

from crawl_tasks.model import Operator
from crawl_tasks.operate import decisions

why_option = click.option("--why", metavar="REASON", default="", help="Your reason. status and check show it.")


def operator(why: str = "") -> Operator:
    """Return the person at this terminal."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # In a container the user may have a number and no name.
        user = str(os.getuid())
    return decisions.operator(f"{user}@{socket.gethostname()}", why)


def tell_unstored(is_stored: bool) -> None:
    """Say that decisions are not in the database, where they are not."""
    if not is_stored:
        click.echo("not in the database yet: a store worker writes this there, or the next such command", err=True)
