"""`crawl-tasks try`: pages read by the rules of their site: some of each stage, one address, or kept pages."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.exits import Exit
from crawl_tasks.cli.terminal import echo_json, examples
from crawl_tasks.discovery import (
    Coverage,
    DryRun,
    HttpProbe,
    attempt,
    cases_of,
    check_feed,
    check_trials,
    missing_in,
    reread,
    save_case,
    try_site,
)
from crawl_tasks.fetch.redaction import items_without, redacted
from crawl_tasks.logs import for_terminal, printable
from crawl_tasks.model import Stage
from crawl_tasks.monitor.humanize import counted
from crawl_tasks.operate.one_page import by_address, one_fetcher, page_row, site_probe
from crawl_tasks.operate.publish import republish
from crawl_tasks.operate.site_choice import chosen_sites
from crawl_tasks.operate.site_files import checked_sites, file_of
from crawl_tasks.registry.site_registry import CompiledSite, compile_site
from crawl_tasks.settings import Settings, load_settings
from crawl_tasks.sites.item_steps import read_steps


@click.command(
    epilog=examples(
        "crawl-tasks try demo                                      # a dozen pages, compared with each other",
        "crawl-tasks try demo --url http://127.0.0.1:8765/list/3/2",
        "crawl-tasks try demo --save    # kept below config/sites/demo.cases; `sites check` reads them again",
        "crawl-tasks try http://127.0.0.1:8765/post/100001 | jq '.posts[].title'",
        "crawl-tasks try demo --kept --stage post  # pages that could not be read, by config/sites/demo.yaml as it is",
        "crawl-tasks try demo --kept --revive      # if all is read: publish the file and let the parked pages go",
    )
)
@click.argument("what", metavar="NAME | URL")
@click.option("--url", metavar="URL", help="With NAME: read only this page.")
@click.option("--save", is_flag=True, help="Save each page and its fields as a test case.")
@click.option("--body", is_flag=True, help="With URL: print the page itself in place of its fields.")
@click.option("--kept", is_flag=True, help="Read the kept pages, which no rule could read before.")
@click.option(
    "--stage", type=click.Choice([stage.value for stage in Stage]), help="With --kept: read only pages of this stage."
)
@click.option(
    "--revive", is_flag=True, help="With --kept: if all pages are read, publish NAME and fetch the parked pages again."
)
@click.pass_context
def command(
    ctx: click.Context, what: str, *, url: str | None, save: bool, body: bool, kept: bool, stage: str | None, revive:
    bool,
) -> None:  # fmt: skip
    """Read pages of site NAME by its file and show each field and those that are missing, or read one URL as JSON.

    Pages of three boards and four threads (eight without a preset) are compared with each other:
    replies counted and read, titles, authors, times, pagers. Nothing is stored, and no page is marked as seen. With
    --kept nothing is fetched either. Addresses, robots.txt and limits are checked as in a crawl. Ends with 1 where
    something is missing that a crawl needs, or where the forum refutes a rule.
    """
    is_address = "://" in what
    if (is_address and (url or kept)) or (body and not is_address) or (url and kept):
        raise click.UsageError("--url and --kept are for a NAME, one of them, and --body is for a URL")
    if (stage or revive) and not kept:
        raise click.UsageError("--stage and --revive go with --kept")
    settings = load_settings()
    if is_address:
        _read_address(what, settings, save=save, body=body)
    elif kept:
        is_read = _read_kept(what, settings, [Stage(stage)] if stage else list(Stage), save=save, revive=revive)
        ctx.exit(Exit.OK if is_read else Exit.FAILURES)
    else:
        ctx.exit(Exit.OK if _read_site(what, settings, url, save=save) else Exit.FAILURES)


def _read_site(name: str, settings: Settings, url: str | None, *, save: bool) -> bool:
    """Fetch a page of each stage, or one address. Return whether no field is missing."""
    [site] = checked_sites(settings, (name,))
    opened = compile_site(site, settings.contact)
    probe = site_probe(opened, settings)
    trials = [attempt(probe, opened, by_address([site], url)[1])] if url else try_site(probe, opened)
    more = [] if site.boards or url else ["boards: the site file names none; add some, or give --url"]
    return _show_all(trials, opened, settings, more, save=save, probe=probe)


def _read_address(address: str, settings: Settings, *, save: bool, body: bool) -> None:
    """Print the items of one page as JSON, without ledger and pace."""
    site, request = by_address(checked_sites(settings, ()), address)
    opened = compile_site(site, settings.contact, read_steps(settings.items))
    fetched = one_fetcher(settings).fetch(request, opened.policy)
    page = redacted(fetched)
    if body:
        is_terminal = sys.stdout.isatty()
        click.echo(for_terminal(page.body.decode("utf-8", "replace")) if is_terminal else page.body, nl=False)
        return
    parsed = opened.parser.parse(request, fetched, 0)
    parsed = parsed._replace(items=items_without(parsed.items, fetched)[0])
    # Before the item steps: a case checks the rules of the site file, and steps may depend on the environment.
    if save:
        path = save_case(cases_of(file_of(settings, site.name)), DryRun(request, page, parsed))
        click.echo(f"kept as {_short(path)}", err=True)
    if opened.pipeline is not None:
        parsed = opened.pipeline.process(request, parsed)
    # On standard error: standard output is JSON, for programs such as jq.
    click.echo("past the ledger: nothing is stored, no page is marked as seen", err=True)
    echo_json(page_row(request, page, parsed), indent=2)


def _read_kept(name: str, settings: Settings, stages: list[Stage], *, save: bool, revive: bool) -> bool:
    """Read the kept pages by the site file as it is now. Return whether no field is missing."""
    frontier = chosen_sites(open_cells(settings), (name,))[name]
    pages = [kept for stage in stages for kept in frontier.kept_pages.kept(name, stage)]
    if not pages:
        click.echo(f"no page of {name} is kept")
        return True
    [site] = checked_sites(settings, (name,))
    opened = compile_site(site, settings.contact)
    trials = (reread(opened, kept.request, kept.page) for kept in pages)
    # Publishing half-mended rules would fetch the parked pages, only to park them again.
    if not _show_all(trials, opened, settings, [], save=save):
        return False
    if revive:
        total = republish(frontier, site, settings, sorted({kept.request.stage for kept in pages}))
        click.echo(f"{name} is published; {total} parked requests are ready again")
    else:
        read = counted(len(pages), "page")
        click.echo(f"all that is kept, {read}, is read; let them go with: crawl-tasks try {name} --kept --revive")
    return True


def _show_all(
    trials: Iterable[DryRun], opened: CompiledSite, settings: Settings, missing: list[str], *, save: bool,
    probe: HttpProbe | None = None,
) -> bool:  # fmt: skip
    """Show pages as they come, then the missing fields. Return whether there are none.

    A `probe` asks for the forum's feed, whose times have a zone.
    """
    # In a pipe or a file rich would take 80 columns, too few for a value beside its field.
    console = Console(width=None if Console().is_terminal else 120, highlight=False)
    tried: list[DryRun] = []
    for trial in trials:
        # One page of a kind shows the fields. The further ones are there to refute the rules.
        is_first = not any(other.rows and other.request.stage is trial.request.stage for other in tried)
        tried.append(trial)
        show(console, trial, opened, settings, save=save, whole=is_first)
    missing = list(dict.fromkeys([*missing, *missing_in(tried)]))
    checks = check_trials(opened.site, tried)
    if probe is not None and (by_feed := check_feed(probe, opened.site, tried)):
        checks.append(by_feed)
    for check in sorted(checks, key=lambda check: not check.holds):
        word = "holds    " if check.holds else "[red]refuted[/]  "
        console.print(word + escape(printable(str(check), 300)), soft_wrap=True)
    for line in missing:
        console.print(escape(printable(f"missing  {line}", 300)), soft_wrap=True)
    return not missing and all(check.holds for check in checks)


def show(console: Console, trial: DryRun, opened: CompiledSite, settings: Settings, *, save: bool, whole: bool) -> None:
    """Print one page, with its fields if `whole`, and save it as a case if wanted."""
    stage, request = trial.request.stage, trial.request
    console.print(escape(f"{stage.value} page  {printable(request.address, 200)}"), soft_wrap=True)
    if trial.page is not None and trial.page.url != request.address:
        console.print(escape(f"  was sent to {printable(trial.page.url, 200)}"))
    if trial.is_refused:
        console.print(escape(f"  not read: {printable(trial.error, 300)}"), soft_wrap=True)
    if trial.parsed is not None and not whole:
        items = trial.parsed.items
        console.print(f"  {counted(len(items.posts), 'post')}, {counted(len(items.comments), 'comment')}")
    elif trial.parsed is not None:
        kind = "comments" if stage is Stage.COMMENT else "posts"
        console.print(table_of(f"{len(trial.rows)} {kind}", trial.coverage()))
        if trial.comments():
            console.print(table_of(f"{len(trial.parsed.items.comments)} comments on it", trial.comments()))
        for line in leads(trial):
            console.print(escape(printable(f"  {line}", 300)), soft_wrap=True)
    if save and trial.page is not None:
        path = save_case(cases_of(file_of(settings, opened.site.name)), trial)
        console.print(escape(f"  kept as {_short(path)}"))


def table_of(title: str, coverage: Iterable[Coverage]) -> Table:
    """Return a table of fields with values and the number of records that have them."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    table.add_column("field", no_wrap=True)
    table.add_column("filled in", justify="right", no_wrap=True)
    table.add_column("value", overflow="fold")
    for field in coverage:
        count = f"{field.filled} of {field.records}"
        value = escape(printable(" ".join(shown(field).split()), 90)) if field.filled else "-"
        table.add_row(field.field, count if field.filled else f"[yellow]{count}[/]", value)
    return table


def shown(field: Coverage) -> str:
    """Return a value for people, times as dates in UTC."""
    if field.field.endswith("_at") and field.sample.isdecimal():
        return f"{datetime.fromtimestamp(int(field.sample), UTC):%Y-%m-%d %H:%M:%S} UTC"
    return field.sample


def leads(trial: DryRun) -> list[str]:
    """Return lines about the links of a page (list, post and comment pages), and the remarks of the parser."""
    parsed = trial.parsed
    if parsed is None:
        return []
    lines = []
    for stage in Stage:
        pages = [child.address for child in parsed.children if child.stage is stage]
        if pages:
            lines.append(f"leads to {len(pages)} {stage.value} page{'s' * (len(pages) > 1)}, first {pages[0]}")
    if trial.request.stage is not Stage.POST and not any(c.stage is trial.request.stage for c in parsed.children):
        lines.append("no next page was found")
    return lines + [f"remark: {note}" for note in parsed.notes]


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
