"""The replay of saved pages: a changed rule shows its effect without the network.

A case is two files in NAME.cases beside the site file: STAGE-KEY-PAGE.body, the response's bytes, and .json, the rest.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path

import orjson

from crawl_tasks.discovery.proof.dry_run import DryRun, reread
from crawl_tasks.errors import SiteError
from crawl_tasks.model import Fetched, Request, Stage
from crawl_tasks.registry.site_registry import CompiledSite

_MOST_CASES = 1_000
_KEPT = ("site", "stage", "key", "address", "page", "revision")
_KEPT_HEADERS = ("content-type", "date")


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """A difference between the saved reading of a case and the present one."""

    case: Path
    what: str


def cases_of(site_file: Path) -> Path:
    """Return the directory of a site file's cases."""
    return site_file.with_suffix(".cases")


def save_case(directory: Path, trial: DryRun) -> Path:
    """Save a page and its reading, in place of an older case of the same page."""
    if trial.page is None:
        raise SiteError(f"{trial.request.address}: there is no page to keep: {trial.error}")
    request, page = trial.request, trial.page
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", request.key)[:40]
    # The hash keeps keys apart that differ only in characters which a file name cannot have.
    mark = "" if plain == request.key else "-" + blake2b(request.key.encode(), digest_size=4).hexdigest()
    path = directory / f"{request.stage.value}-{plain}{mark}-{request.page}.json"
    directory.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".body").write_bytes(page.body)
    kept = {
        "request": {name: getattr(request, name) for name in _KEPT},
        "url": page.url,
        "status": page.status,
        "headers": {name: page.headers[name] for name in _KEPT_HEADERS if name in page.headers},
        "at_s": page.at_s,
        "read": _read(trial),
    }
    path.write_bytes(orjson.dumps(kept, option=orjson.OPT_INDENT_2))
    return path


def replay(directory: Path, opened: CompiledSite) -> Iterator[Difference | Path]:
    """Read every saved page again. Yield the case if nothing changed, else each difference.

    Raises:
        SiteError: a case cannot be read.
    """
    for path in sorted(directory.glob("*.json"))[:_MOST_CASES]:
        try:
            kept = orjson.loads(path.read_bytes())
            fields = kept["request"]
            request = Request(**{**fields, "stage": Stage(fields["stage"])})
            body = path.with_suffix(".body").read_bytes()
            page = Fetched(kept["url"], kept["status"], kept["headers"], body, kept["at_s"])
            before = kept["read"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise SiteError(f"{path}: is no case: {error}; keep it anew with `try --save`, or remove it") from None
        differences = list(_compared("", before, _read(reread(opened, request, page))))
        if not differences:
            yield path
        yield from (Difference(path, what) for what in differences[:10])


def _read(trial: DryRun) -> dict[str, object]:
    """Return the reading as JSON values."""
    if trial.parsed is None:
        return {"error": trial.error}
    items = trial.parsed.items
    raw = {
        **{
            kind: [{name: value for name, value in row._asdict().items() if value is not None} for row in rows]
            for kind, rows in (("forums", items.forums), ("posts", items.posts), ("comments", items.comments))
        },
        "children": [child.address for child in trial.parsed.children],
    }
    whole = orjson.loads(orjson.dumps(raw))
    return dict(whole)


def _compared(where: str, before: object, now: object) -> Iterator[str]:
    """Yield the places where two JSON values differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in before.keys() | now.keys():
            yield from _compared(f"{where}.{name}" if where else str(name), before.get(name), now.get(name))
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for place, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _compared(f"{where}[{place}]", old, new)
    elif isinstance(before, list) and isinstance(now, list):
        yield f"{where}: {len(now)} instead of {len(before)}"
    elif before != now:
        yield f"{where}: {str(now)[:100]!r} instead of {str(before)[:100]!r}"
