"""The same numbers of a site from every view: JSON, Prometheus' samples, and beneath them the database and the logs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from crawl_tasks.model import Stage
from crawl_tasks.store.queries import counts
from crawl_tasks.store.upsert import Store
from tests.flow.four_sites import Visit

Samples = Iterable[tuple[str, Mapping[str, str], float]]
"""Name, labels and value of each."""

FAILURES = {"error": "server_error", "changed_markup": "parse"}
"""What we call the faults of the forums."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What of a site every view must say alike."""

    pages: dict[str, int]
    statuses: dict[str, int]
    failures: dict[str, int]
    posts: int
    comments: int
    dead: int
    parked: int


def beneath(site: str, visits: list[Visit], database: Path) -> Numbers:
    """Count in the forum's own log and in the database, with nothing of the monitor in between."""
    with Store(f"sqlite:///{database}") as store:
        [stored] = [row for row in counts(store) if row.site == site]
    read = [visit for visit in visits if not visit.fault]
    came = {visit.path for visit in read}
    return Numbers(
        pages={stage.value: sum(visit.stage == stage for visit in read) for stage in Stage},
        statuses=dict(Counter(visit.status for visit in visits)),
        failures=dict(Counter(FAILURES[visit.fault] for visit in visits if visit.fault)),
        posts=stored.posts,
        comments=stored.comments,
        dead=len({visit.path for visit in visits if visit.fault == "error"} - came),
        parked=len({visit.path for visit in visits if visit.fault == "changed_markup"} - came),
    )


def of_json(site: str, snapshot: Mapping[str, Any]) -> Numbers:  # JSON of any shape
    """Read what `/api/snapshot` and `status --json` give."""
    [row] = [row for row in snapshot["sites"] if row["site"] == site]
    return Numbers(
        pages={stage: count["done"] for stage, count in row["stages"].items()},
        statuses=row["statuses"],
        failures=row["failed"],
        posts=row["items"]["post"]["new"],
        comments=row["items"]["comment"]["new"],
        dead=row["dead"],
        parked=row["parked"],
    )


def of_exposition(site: str, text: str) -> Numbers:
    """Read what `/metrics` gives, as Prometheus' own client does."""
    families = text_string_to_metric_families(text)
    return of_samples(site, ((s.name, s.labels, s.value) for family in families for s in family.samples))


def of_query(site: str, answer: Mapping[str, Any]) -> Numbers:  # JSON of any shape
    """Read what Prometheus answers to an instant query."""
    rows = answer["data"]["result"]
    return of_samples(site, ((row["metric"]["__name__"], row["metric"], float(row["value"][1])) for row in rows))


def of_samples(site: str, samples: Samples) -> Numbers:
    """Read the exporter's metrics."""
    ours = [(name, labels, int(value)) for name, labels, value in samples if labels.get("site") == site]

    def by(label: str, metric: str) -> dict[str, int]:
        found: Counter[str] = Counter()
        for name, labels, value in ours:
            if name == metric:
                found[labels[label]] += value
        return dict(found)

    items = {
        labels["kind"]: value for name, labels, value in ours
        if name == "crawl_items_total" and labels["change"] == "new"
    }  # fmt: skip
    states = by("state", "crawl_requests")
    return Numbers(
        pages=by("stage", "crawl_pages_total"),
        statuses=by("status", "crawl_responses_total"),
        # A reason that alerts at its first failure is exported as zero before.
        failures={reason: count for reason, count in by("reason", "crawl_failures_total").items() if count},
        posts=items["post"],
        comments=items["comment"],
        dead=states["dead"],
        parked=states["parked"],
    )
