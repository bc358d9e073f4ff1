"""`crawl-tasks search`: the newest stored posts and comments with some words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Unpack

import click

from crawl_tasks.cli.selection_options import RowChoice, selection_of, selection_options
from crawl_tasks.cli.terminal import examples
from crawl_tasks.logs import configure_logs, printable
from crawl_tasks.settings import load_settings
from crawl_tasks.store.atomic_file import opened
from crawl_tasks.store.output_format import FileFormat
from crawl_tasks.store.row_writers import moment_of, row_writer
from crawl_tasks.store.search_index import Hit, SearchIndex
from crawl_tasks.store.search_text import match_expression, search_words
from crawl_tasks.store.upsert import Store

SHOWN: Final = 200
"""Characters of a text around the word that was found."""


@click.command(
    epilog=examples(
        "crawl-tasks search oil filter                  # both words, the newest first",
        "crawl-tasks search '\"oil filter\" -synthetic'   # as a phrase, and without another word",
        "crawl-tasks search 骑车 --site bikes --since 7d",
        "crawl-tasks search 'carb*' --author ann --json | head -3",
    )
)
@click.argument("words", nargs=-1, required=True)
@selection_options
@click.option(
    "--limit", metavar="N", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Show at most N rows."
)
@click.option("--json", "as_json", is_flag=True, help="Print whole rows as JSON Lines, as export writes them.")
def command(words: tuple[str, ...], *, limit: int, as_json: bool, **choice: Unpack[RowChoice]) -> None:
    """Show the newest posts and comments with all WORDS in their titles and texts.

    The first search makes the index, and each later one adds the rows that were stored since. The index is a file in
    the state directory. You may delete it.
    """
    query, selection = " ".join(words), selection_of(choice)
    match_expression(query)  # for its errors, before the index
    settings = load_settings()
    configure_logs(settings.log_format)
    with (
        Store(settings.database_url).open(create=False) as store,
        SearchIndex(settings.state_dir / "search.db", store) as index,
    ):
        index.update(lambda number: click.echo(f"{number} rows taken into the index", err=True))
        hits = index.search(query, selection, selection.sources(), limit)
    if as_json:
        with opened("-", overwrite=True) as file:
            writer = row_writer(FileFormat.JSONL, file, selection.sources())
            for hit in hits:
                writer.write(hit.source, hit.row)
        return
    for hit in hits:
        click.echo(shown(hit, search_words(query)))
    if not hits:
        click.echo("nothing found", err=True)


def shown(hit: Hit, words: Sequence[str]) -> str:
    """Return a row as two lines: time, place and author, then the text around the first word."""
    values = dict(zip((column.name for column in hit.source.columns), hit.row, strict=True))
    moment = moment_of(float(values["created_at"] or values["first_seen_at"] or 0))
    place = ("post {post_id}" if hit.source.kind == "post" else "post {post_id}, comment {comment_id}").format(**values)
    state = "" if values["state"] in {None, "normal"} else f"  [{values['state']}]"
    head = f"{moment:%Y-%m-%d %H:%M}  {values['site']}  {place}  {values['author'] or '?'}{state}"
    text = " ".join(str(values[name]) for name in ("title", "body") if values.get(name))
    return f"{printable(head)}\n  {printable(excerpt(text, words))}"


def excerpt(text: str, words: Sequence[str]) -> str:
    """Return the part of a text around the first of some words, on one line."""
    line = " ".join(text.split())
    places = [at for at in (line.casefold().find(word.casefold()) for word in words) if at >= 0]
    begin = max(0, min(places, default=0) - SHOWN // 4)
    return ("…" if begin else "") + line[begin : begin + SHOWN] + ("…" if begin + SHOWN < len(line) else "")
