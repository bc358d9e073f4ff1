"""`crawl-tasks try`: a few pages of a site, read by its rules, field by field."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.fetch import by_address
from crawl_tasks.cli.helptext import examples
from crawl_tasks.cli.safe_text import printable
from crawl_tasks.cli.sites import checked_sites, file_of
from crawl_tasks.fetch.download import build_fetcher
from crawl_tasks.model import Stage
from crawl_tasks.publishing import is_public
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sitebook import OpenSite, open_site
from crawl_tasks.survey.cases import cases_of, save_case
from crawl_tasks.survey.trial import Coverage, Trial, attempt, try_site
from crawl_tasks.survey.visit import PUBLIC_PACE_S, Visitor


@click.command(
    epilog=examples(
        "crawl-tasks try demo",
        "crawl-tasks try demo --url http://127.0.0.1:8765/list/3/2",
        "crawl-tasks try demo --save    # kept below config/sites/demo.cases; `sites check` reads them again",
    )
)
@click.argument("name")
@click.option("--url", metavar="URL", help="Try this page alone.")
@click.option("--save", is_flag=True, help="Keep each page and what was read from it as a test case.")
@click.pass_context
def command(ctx: click.Context, name: str, *, url: str | None, save: bool) -> None:
    """Fetch a list, a post and a comment page of a site and show what is read, and what is missing.

    Nothing is stored. Ends with 1 where something is missing that a crawl needs: records, titles, bodies.
    """
    settings = load_settings()
    [site] = checked_sites(settings, (name,))
    opened = open_site(site, settings.contact)
    visitor = open_visitor(opened, settings)
    trials = [attempt(visitor, opened, by_address([site], url)[1])] if url else try_site(visitor, opened)
    # Wide enough for a value beside its field also where nobody looks at a terminal.
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    missing = [lost for trial in trials for lost in show(console, trial, opened, settings, save=save)]
    if not site.boards and not url:
        missing.append("boards: the site file names none; add some, or give --url")
    for lost in missing:
        console.print(escape(printable(f"missing  {lost}", 300)), soft_wrap=True)
    if missing:
        ctx.exit(Exit.FAILURES)


def open_visitor(opened: OpenSite, settings: Settings) -> Visitor:
    """Make a visitor that keeps the pace its site file asks for, and a second on public hosts."""
    pace_s = max(opened.site.gate.delay_s, PUBLIC_PACE_S) if is_public(opened.site) else 0.0
    return Visitor(
        build_fetcher(
            settings.http_client, threads=1, ca_file=settings.ca_file, proxy=settings.proxy.get_secret_value()
        ),
        opened.policy,
        pace_s=pace_s,
    )


def show(console: Console, trial: Trial, opened: OpenSite, settings: Settings, *, save: bool) -> list[str]:
    """Print one page, keep it if wanted, and return what is missing."""
    stage, request = trial.request.stage, trial.request
    console.print(escape(f"{stage.value} page  {printable(request.address, 200)}"), soft_wrap=True)
    if trial.page is not None and trial.page.url != request.address:
        console.print(escape(f"  was sent to {printable(trial.page.url, 200)}"))
    if trial.parsed is not None:
        what = "comments" if stage is Stage.COMMENT else "posts"
        console.print(table_of(f"{len(trial.rows)} {what}", trial.coverage()))
        if trial.comments():
            console.print(table_of(f"{len(trial.parsed.items.comments)} comments on it", trial.comments()))
        for line in leads(trial):
            console.print(escape(printable(f"  {line}", 300)), soft_wrap=True)
    if save and trial.page is not None:
        path = save_case(cases_of(file_of(settings, opened.site.name)), trial)
        console.print(escape(f"  kept as {_short(path)}"))
    return trial.missing()


def table_of(title: str, coverage: Iterable[Coverage]) -> Table:
    """Lay out field, value, and in how many records it was found."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("field", no_wrap=True)
    table.add_column("filled in", justify="right", no_wrap=True)
    table.add_column("value", overflow="fold")
    for one in coverage:
        count = f"{one.filled} of {one.records}"
        value = escape(printable(" ".join(shown(one).split()), 90)) if one.filled else "-"
        table.add_row(one.field, count if one.filled else f"[yellow]{count}[/]", value)
    return table


def shown(one: Coverage) -> str:
    """Write a value for people: times as such, in UTC."""
    if one.field.endswith("_at") and one.sample.isdigit():
        return f"{datetime.fromtimestamp(int(one.sample), UTC):%Y-%m-%d %H:%M:%S} UTC"
    return one.sample


def leads(trial: Trial) -> list[str]:
    """Say where a page leads: posts, pages of its own kind, pages of comments; and what the parser remarked."""
    parsed = trial.parsed
    if parsed is None:
        return []
    lines = []
    for stage in Stage:
        found = [child.address for child in parsed.children if child.stage is stage]
        if found:
            lines.append(f"leads to {len(found)} {stage.value} page{'s' * (len(found) > 1)}, first {found[0]}")
    if trial.request.stage is not Stage.POST and not any(c.stage is trial.request.stage for c in parsed.children):
        lines.append("no next page was found")
    return lines + [f"remark: {note}" for note in parsed.notes]


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
