"""`crawl-tasks failed`: dead letters (pages, items, messages, start entries), with reasons, retry and drop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from itertools import islice
from typing import Any, NamedTuple

import click

from crawl_tasks.cli.backend import open_cells
from crawl_tasks.cli.dead_letters import line_of, row_of
from crawl_tasks.cli.terminal import echo_json, examples
from crawl_tasks.frontier.admin.failed import DeadLetter, FailedKind, FailedRequest, Selection
from crawl_tasks.frontier.cells import Cells
from crawl_tasks.frontier.kept_pages import KeptPage
from crawl_tasks.logs import printable
from crawl_tasks.model import Stage, State
from crawl_tasks.monitor.output_language import gettext, use_language
from crawl_tasks.operate.failed import FailedChoice, drop_failed, kept_pages, list_failed, retry_failed, show_failed
from crawl_tasks.operate.site_choice import require_ledger_here
from crawl_tasks.settings import Settings, load_settings

KINDS = click.Choice([kind.value for kind in FailedKind])


class KindText(NamedTuple):
    """The words for a kind: noun in singular and plural, the option that `retry` takes, and the fate after a retry."""

    singular: str
    plural: str
    chosen_by: str
    retried: str

    def tell(self, number: int, fate: str) -> str:
        """Return a sentence about the number of entries with a fate."""
        return gettext(f"{{count}} {self.singular} is {fate}" if number == 1 else f"{{count}} {self.plural} are {fate}",
                       count=number)  # fmt: skip


WORDINGS = {
    FailedKind.PAGE: KindText("page", "pages", " --site SITE", "ready again"),
    FailedKind.ITEM: KindText("page with items", "pages with items", "", "back before the store"),
    FailedKind.MESSAGE: KindText("message", "messages", " ID", "back on the queue"),
    FailedKind.START: KindText("start entry", "start entries", " ID", "back under the start key"),
}


class Chosen(NamedTuple):
    """The dead letters that options select."""

    kind: FailedKind | None
    sites: tuple[str, ...]
    selection: Selection

    def kinds(self) -> Sequence[FailedKind]:
        """Return the selected kinds: only pages where an option for pages is given.

        Raises:
            UsageError: an option for pages is given with another kind.
        """
        is_of_pages = bool(self.sites or self.selection._replace(ids=()) != Selection())
        if is_of_pages and self.kind not in (None, FailedKind.PAGE):
            raise click.UsageError(f"--site, --state, --reason and --stage choose pages, not a {self.kind}")
        if is_of_pages:
            return [FailedKind.PAGE]
        return [self.kind] if self.kind else list(FailedKind)

    def choice(self, kind: FailedKind, settings: Settings) -> FailedChoice:
        """Return the choice of letters of one of the kinds."""
        # `failed list` without options must work where no site is published: messages and items have no site.
        needs_site = self.kind is not None or bool(self.sites)
        return FailedChoice(kind, self.selection, self.sites, settings.start_key, needs_site)


def choosing(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that select dead letters to a command. The command takes a `Chosen` in their place."""

    @click.option("--kind", type=KINDS, help="Kind of failure.")
    @click.option("--site", "sites", metavar="NAME", multiple=True, help="Only pages of this site.")
    @click.option(
        "--state",
        type=click.Choice(["dead", "parked"]),
        help="Only pages in this state: given up (dead), or waiting for a rule (parked).",
    )
    @click.option("--reason", metavar="NAME", default="", help="Only pages given up for this reason.")
    @click.option("--stage", type=click.Choice([stage.value for stage in Stage]), help="Only pages of this stage.")
    @wraps(command)
    def with_chosen(
        *, kind: str | None, sites: tuple[str, ...], state: str | None, reason: str, stage: str | None,
        **rest: Any,  # noqa: ANN401  # the command's own options
    ) -> None:  # fmt: skip
        pages = Selection("", State(state) if state else None, reason, Stage(stage) if stage else None)
        command(Chosen(FailedKind(kind) if kind else None, sites, pages), **rest)

    return with_chosen


@click.group(
    epilog=examples("crawl-tasks failed list", "crawl-tasks failed retry --kind page --site demo --reason unreachable")
)
def command() -> None:
    """List, show, retry or drop failed pages, items, messages and start entries.

    Pages were given up (dead), or wait for a mended rule (parked). Items were read from pages and could not be stored.
    Messages and start entries are kept because nobody can read them.
    """


@command.command(
    "list",
    short_help="Show failures with their reasons.",
    epilog=examples(
        "crawl-tasks failed list",
        "crawl-tasks failed list --kind page --site demo --state parked --json",
        "crawl-tasks failed list --kept --site demo      # pages that crawl-tasks try demo --kept reads",
    ),
)
@choosing
@click.option("--kept", is_flag=True, help="Show the kept pages, which no rule could read, with size and cause.")
@click.option("--most", metavar="N", type=click.IntRange(1, 1_000_000), default=100, show_default=True,
              help="Show at most N lines per kind.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
def list_(chosen: Chosen, *, kept: bool, most: int, as_json: bool) -> None:
    """Show one kind, or all: id, time, reason, and of a page the number of attempts."""
    settings = load_settings()
    use_language(settings.language)
    cells = open_cells(settings)
    total = 0
    for kind in [kind for kind in chosen.kinds() if kind is FailedKind.PAGE or not kept]:
        entries = _kept(cells, chosen) if kept else list_failed(cells, chosen.choice(kind, settings))
        listed = _EntryList()
        for entry in islice(entries, most):
            listed.add(entry, as_json=as_json)
        if listed.count and not as_json:
            # One entry beyond the limit tells that there are more, without a count of perhaps millions.
            click.echo(listed.summary(kind, most if next(entries, None) else None, kept=kept))
        total += listed.count
    if not total:
        # An emptied Redis has no failures either.
        require_ledger_here(cells)
        if not as_json:
            click.echo(gettext("no page is kept") if kept else gettext("nothing failed"))


class _EntryList:
    """The entries of one kind that were printed."""

    def __init__(self) -> None:
        self.count = 0
        self._states = set[State]()

    def add(self, entry: DeadLetter | KeptPage, *, as_json: bool) -> None:
        """Print an entry."""
        self.count += 1
        if isinstance(entry, FailedRequest):
            self._states.add(entry.state)
        if as_json:
            echo_json(row_of(entry))
        else:
            click.echo(line_of(entry))

    def summary(self, kind: FailedKind, limit: int | None, *, kept: bool) -> str:
        """Return their number with the command for the next step. A `limit` left further ones out."""
        more = "" if limit is None else gettext("; more are not shown, --most {count} is the limit", count=limit)
        step = "try SITE --kept" if kept else f"failed retry --kind {kind}{WORDINGS[kind].chosen_by}"
        # Without the option, dead pages are retried.
        step += " --state parked" if self._states == {State.PARKED} else ""
        return WORDINGS[kind].tell(self.count, "shown") + more + gettext("; next: crawl-tasks {step}", step=step)


def _kept(cells: Cells, chosen: Chosen) -> Iterator[KeptPage]:
    if chosen.selection.state or chosen.selection.reason:
        raise click.UsageError("--kept pages are chosen by --site and --stage")
    return kept_pages(cells, chosen.sites, chosen.selection.stage)


@command.command(
    short_help="Show all that is known of one.",
    epilog=examples("crawl-tasks failed show --site demo 4711", "crawl-tasks failed show --kind message 3f2a"),
)
@click.argument("id_", metavar="ID")
@click.option("--kind", type=KINDS, default=FailedKind.PAGE.value, show_default=True, help="Kind of failure.")
@click.option("--site", metavar="NAME", help="Site of the page.")
def show(id_: str, *, kind: str, site: str | None) -> None:
    """Show one failed entry in full. The ID begins its line of `failed list`."""
    if (kind == FailedKind.PAGE) is not (site is not None):
        raise click.UsageError("name the site of a page, and of nothing else, with --site")
    settings = load_settings()
    chosen = Chosen(FailedKind(kind), (site,) if site else (), Selection(ids=(id_,)))
    cells = open_cells(settings)
    letter = show_failed(cells, chosen.choice(FailedKind(kind), settings))
    for name, value in row_of(letter).items():
        click.echo(f"{name:<9} {printable(str(value), most=100_000)}")
    if isinstance(letter, FailedRequest):
        for page in kept_pages(cells, chosen.sites, letter.request.stage):
            if page.rid == letter.rid and page.screenshot:
                file = settings.state_dir / "screenshots" / f"{site}-{page.rid}.jpg"
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                file.write_bytes(page.screenshot)
                click.echo(f"screenshot, written to {file}")


@command.command(
    short_help="Try them again.",
    epilog=examples(
        "crawl-tasks failed retry --kind page --site demo",
        "crawl-tasks failed retry --kind page --all --state parked",
        "crawl-tasks failed retry --kind item",
        "crawl-tasks failed retry --kind message 3f2a",
    ),
)
@click.argument("ids", nargs=-1)
@choosing
@click.option("--all", "everything", is_flag=True, help="Take all of the kind. For pages: those of all sites.")
def retry(chosen: Chosen, *, ids: tuple[str, ...], everything: bool) -> None:
    """Send failures back to where they failed, after the cause is mended. Those that fail again come back.

    Pages (the dead, unless --state says otherwise) are ready again with their attempts forgotten, at their site's pace.
    Items go back before the store. Messages and start entries, named by IDS, go back where they came from.
    """
    kind, chosen = _meant(chosen, ids, everything=everything)
    settings = load_settings()
    total = retry_failed(open_cells(settings), chosen.choice(kind, settings))
    click.echo(WORDINGS[kind].tell(total, WORDINGS[kind].retried))


@command.command(
    short_help="Delete failed entries permanently.",
    epilog=examples(
        "crawl-tasks failed drop --kind page --site demo --reason too_large",
        "crawl-tasks failed drop --kind start --all --yes",
    ),
)
@click.argument("ids", nargs=-1)
@choosing
@click.option("--all", "everything", is_flag=True, help="Take all of the kind. For pages: those of all sites.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def drop(chosen: Chosen, *, ids: tuple[str, ...], everything: bool, yes: bool) -> None:
    """Delete failed entries permanently. A page then counts as done, and is fetched when it changes."""
    kind, chosen = _meant(chosen, ids, everything=everything)
    if not yes:
        click.confirm(f"Drop {_told(kind, chosen)}?", abort=True)
    settings = load_settings()
    total = drop_failed(open_cells(settings), chosen.choice(kind, settings))
    click.echo(WORDINGS[kind].tell(total, "dropped"))


def _meant(chosen: Chosen, ids: tuple[str, ...], *, everything: bool) -> tuple[FailedKind, Chosen]:
    """Return the kind to change, which is page by default, and the selection.

    Raises:
        UsageError: nothing is selected, or an option does not fit the kind.
    """
    # Nothing is changed by default: a person must name the site, the ids or --all.
    [kind] = chosen._replace(kind=chosen.kind or FailedKind.PAGE).kinds()
    if kind is FailedKind.PAGE:
        if ids or everything == bool(chosen.sites):
            raise click.UsageError("choose pages by --site, or those of all sites by --all")
        state = chosen.selection.state or State.DEAD
        return kind, chosen._replace(kind=kind, selection=chosen.selection._replace(state=state))
    if kind is not FailedKind.ITEM and everything == bool(ids):
        raise click.UsageError(f"name {WORDINGS[kind].plural} by their ids, or all with --all")
    return kind, chosen._replace(kind=kind, selection=Selection(ids=ids))


def _told(kind: FailedKind, chosen: Chosen) -> str:
    """Return the selection in words, for a question."""
    words, selection = WORDINGS[kind], chosen.selection
    if kind is not FailedKind.PAGE:
        return f"{words.plural} {', '.join(selection.ids)}" if selection.ids else f"all {words.plural}"
    stage = f" {selection.stage.value}" if selection.stage else ""
    why = f" for {selection.reason}" if selection.reason else ""
    return f"the {selection.state}{stage} pages of {', '.join(chosen.sites) or 'all sites'}{why}"
