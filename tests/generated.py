"""Files of the repository that are made from tables of the code: `make docs` writes them, a test holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import Index, Table
from sqlalchemy.dialects import postgresql

from crawl_tasks.monitor.problems.generated_files import problems_page, rules_file
from crawl_tasks.monitor.web.exposition import reference
from crawl_tasks.monitor.web.metrics import FAMILIES
from crawl_tasks.settings import reference as settings_page
from crawl_tasks.sites.reference import rewritten
from crawl_tasks.store import tables

ROOT = Path(__file__).parents[1]
DASHBOARD = ROOT / "docker" / "grafana" / "dashboards" / "crawl.json"


def metrics_page(page: str) -> str:
    """Return docs/metrics.md with its table made anew."""
    table = reference(FAMILIES)
    return page[: page.index(table.partition("\n")[0])] + table


TABLES = "## Tables\n"


def data_page(page: str) -> str:
    """Return docs/data.md with its tables made anew."""
    return page[: page.index(TABLES)] + TABLES + "".join(map(table_section, tables.metadata.tables.values()))


def table_section(table: Table) -> str:
    """Return a table's columns, key and indexes."""
    lines = [
        f"\n### {table.name}\n",
        f"{table.comment}\n",
        "| column | type | unit | null | meaning |",
        "|---|---|---|---|---|",
    ]
    for column in table.columns:
        unit = column.info.get(tables.UNIT, "")
        kind = str(column.type.compile(dialect=postgresql.dialect())).partition(" COLLATE")[0].lower()
        null = "yes" if column.nullable else ""
        lines.append(f"| `{column.name}` | {kind} | {unit} | {null} | {column.comment} |")
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
    "docs/site-files.md": rewritten,
    "docs/metrics.md": metrics_page,
    "docs/data.md": data_page,
    "docs/settings.md": lambda _: settings_page(),
    "docs/problems.md": lambda _: problems_page(),
    "docker/prometheus/rules.yml": lambda _: rules_file(),
    # A wheel holds the package alone.
    "crawl_tasks/monitor/web/dashboard.json": lambda _: DASHBOARD.read_text("utf-8"),
    "crawl_tasks/demo/demo.yaml": lambda _: (ROOT / "config" / "sites" / "demo.yaml").read_text("utf-8"),
}
"""By path the function that makes the text from the text that is there."""


def main() -> None:
    """Write all of them."""
    for name, made in GENERATED.items():
        path = ROOT / name
        path.write_text(made(path.read_text("utf-8") if path.exists() else ""), "utf-8")


if __name__ == "__main__":
    main()
