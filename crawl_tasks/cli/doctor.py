"""`crawl-tasks doctor`: what keeps this installation from working, and what to do about it."""

from __future__ import annotations

import json

import click

from crawl_tasks.cli.checkup import Level, examine
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.logs import hide_passwords
from crawl_tasks.settings import load_settings

_COLOURS = {Level.OK: "green", Level.WARN: "yellow", Level.FAIL: "red"}


@click.command(epilog=examples("crawl-tasks doctor", "crawl-tasks doctor --json"))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Look at Python, packages, Redis, the database, the site files, the workers and beat.

    Exit code 0 when nothing fails, else that of the gravest failure: 2 for configuration, 3 for Redis or the database.
    """
    findings = examine(load_settings())
    if as_json:
        rows = [
            {"level": found.level.value, "what": found.what, "text": hide_passwords(found.text)} for found in findings
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
    else:
        for found in findings:
            level = click.style(f"{found.level.value:<4}", fg=_COLOURS[found.level])
            click.echo(f"{level}  {found.what:<9}  {printable(hide_passwords(found.text), most=2000)}")
    ctx.exit(max((found.exit_code for found in findings if found.level is Level.FAIL), default=Exit.OK))
