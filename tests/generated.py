"""Files of the repository that are made from tables of the code: `make docs` writes them, a test holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from crawl_tasks.monitor.problems.generated_files import problems_page, rules_file
from crawl_tasks.monitor.web.exposition import reference
from crawl_tasks.monitor.web.metrics import FAMILIES
from crawl_tasks.settings import reference as settings_page
from crawl_tasks.sites.reference import rewritten

ROOT = Path(__file__).parents[1]
DASHBOARD = ROOT / "docker" / "grafana" / "dashboards" / "crawl.json"


def metrics_page(page: str) -> str:
    """Return docs/metrics.md with its table made anew."""
    table = reference(FAMILIES)
    return page[: page.index(table.partition("\n")[0])] + table


GENERATED: dict[str, Callable[[str], str]] = {
    "docs/site-files.md": rewritten,
    "docs/metrics.md": metrics_page,
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
