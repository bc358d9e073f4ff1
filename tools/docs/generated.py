"""The table of generated files, and the pages of metrics, settings and database tables. A test holds each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from sqlalchemy import Index, Table
from sqlalchemy.dialects import postgresql

from crawl_tasks.monitor.problems.alert_rules import inhibit_rules_file, rules_file
from crawl_tasks.settings import PREFIX, Settings
from crawl_tasks.sites import presets
from crawl_tasks.sites.field_rules import COMMENT_FIELDS, POST_FIELDS, extra_fields
from crawl_tasks.store import tables
from crawl_tasks.web.metrics import FAMILIES
from tools.docs.commands_page import commands_page
from tools.docs.problems_page import problems_page
from tools.docs.site_reference import keys_page, presets_page
from tools.docs.wire_page import wire_page

ROOT = Path(__file__).parents[2]
DASHBOARD = ROOT / "docker" / "grafana" / "dashboards" / "crawl.json"


def metrics_page(page: str) -> str:
    """Return docs/metrics.md with its list made anew."""
    head = "## The metrics\n\n"
    rows = [f"- `{family.name}` ({'; '.join(filter(None, (family.kind, ', '.join(family.labels))))}): {family.meaning}"
            for family in FAMILIES]  # fmt: skip
    return page[: page.index(head)] + head + "\n".join([*rows, ""])


def settings_page() -> str:
    """Return the text of docs/settings.md."""
    rows = [
        f"- `{PREFIX}{name.upper()}` ({_default(field.default)}): {field.description}"
        for name, field in Settings.model_fields.items()
    ]
    head = (
        "# Settings\n\n[中文](zh/settings.md)\n\n"
        "Settings concern the whole installation. Terms of one forum are in its [site file](site-files.md).\n\n"
        "A setting is an environment variable. A process reads it once, when it starts, so a change needs a restart."
        " A misspelt name is refused, and the message says the nearest one.\n\n"
        "## Secrets in files\n\n"
        "Each variable may be kept in a file, as containers keep secrets: `CRAWL_ALERT_TO_FILE=/run/secrets/alert_to`"
        " reads the file in place of `CRAWL_ALERT_TO`, and outranks it.\n\n"
        "## Variables\n\nThe brackets have the default.\n\n"
    )
    return head + "\n".join(rows) + "\n"


def _default(value: object) -> str:
    return f"`{value}`" if value not in ("", None, Path(), SecretStr("")) else "none"


TABLES = "## Tables\n"
EXTRA = "| name in `extra` | meaning | presets that fill it |"
MOST_NAMED = 10
MEANINGS = {
    "score": "Likes, or votes for it less those against.",
    "tags": "The tags of a thread, joined by commas.",
    "images": "Addresses of the pictures in the text, joined by blanks.",
    "attachments": "Addresses of the files, joined by blanks.",
    "link": "The page that the thread is about, or its own.",
    "pinned": "There while the thread stands above the others.",
    "locked": "There while nobody may answer.",
}


def data_page(page: str) -> str:
    """Return docs/data.md with its tables made anew."""
    head, _, rest = page[: page.index(TABLES)].partition(EXTRA)
    after = rest[rest.index("\n\n") :]
    return f"{head}{extra_table()}{after}{TABLES}{''.join(map(table_section, tables.metadata.tables.values()))}"


def extra_table() -> str:
    """Return the names that presets give to fields which no table has as a column."""
    filled: dict[str, list[str]] = {name: [] for name in MEANINGS}
    for engine in presets.engine_names():
        for name in sorted(set(_extra_names(presets.load_engine(engine).site))):
            filled[name].append(f"`{engine}`")
    rows = [f"| `{name}` | {meaning} | {_presets(filled[name])} |" for name, meaning in MEANINGS.items()]
    return "\n".join([EXTRA, "|---|---|---|", *rows])


def _presets(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= MOST_NAMED else f"{len(names)} presets"


def _extra_names(site: dict[str, Any]) -> Iterator[str]:
    stages = [site[name] for name in ("list", "post", "comment") if name in site]
    for stage in [*stages, *(stage["comments"] for stage in stages if "comments" in stage)]:
        yield from extra_fields(stage.get("fields", ()), POST_FIELDS + COMMENT_FIELDS)


def table_section(table: Table) -> str:
    """Return a table's columns, key and indexes."""
    lines = [
        f"\n### {table.name}\n",
        f"{table.comment}\n",
    ]
    for column in table.columns:
        unit = column.info.get(tables.UNIT, "")
        dialect = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy has not annotated it
        kind = str(column.type.compile(dialect=dialect)).partition(" COLLATE")[0].lower()
        terms = ", ".join(filter(None, (kind, unit, "or null" if column.nullable else "")))
        lines.append(f"- `{column.name}` ({terms}): {column.comment}")
    keys = ", ".join(f"`{column.name}`" for column in table.primary_key)
    indexes = [
        f"`{index.name}` ({', '.join(column.name for column in index.columns)})" for index in sorted_indexes(table)
    ]
    lines.append(f"\nKey: {keys}." + (f" Indexes: {', '.join(indexes)}." if indexes else ""))
    return "\n".join(lines) + "\n"


def sorted_indexes(table: Table) -> list[Index]:
    """Return the indexes of a table by their names."""
    return sorted(table.indexes, key=lambda index: str(index.name))


GENERATED: dict[str, Callable[[str], str]] = {
    "docs/site-keys.md": lambda _: keys_page(),
    "docs/presets.md": lambda _: presets_page(),
    "docs/commands.md": commands_page,
    "docs/metrics.md": metrics_page,
    "docs/data.md": data_page,
    "docs/settings.md": lambda _: settings_page(),
    "docs/problems.md": lambda _: problems_page(),
    "docs/wire.md": lambda _: wire_page(),
    "docker/prometheus/rules.yml": lambda _: rules_file(),
    "docker/prometheus/inhibit_rules.yml": lambda _: inhibit_rules_file(),
    # A wheel holds the package alone.
    "crawl_tasks/web/dashboard.json": lambda _: DASHBOARD.read_text("utf-8"),
    "crawl_tasks/demo/demo.yaml": lambda _: (ROOT / "config" / "sites" / "demo.yaml").read_text("utf-8"),
}
"""By path the function that returns the text from the present one."""
