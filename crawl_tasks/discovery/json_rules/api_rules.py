"""API rules: proposed rules for the JSON API of a forum that scripts draw, from the answers that its pages ask for.

A value of an answer is a field where it agrees with what the drawn page shows, whatever its name.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.json_rules.json_rules import (
    FoundRecords,
    Pairs,
    Row,
    comment_lines,
    flat,
    list_lines,
    paths_in,
    thread_lines,
)
from crawl_tasks.discovery.links.address_shape import path_of
from crawl_tasks.discovery.probe.http_probe import HttpProbe
from crawl_tasks.discovery.probe.json_document import nested_lists, scalars
from crawl_tasks.discovery.proof.dry_run import DryRun, try_site
from crawl_tasks.discovery.proof.file_score import score_of
from crawl_tasks.discovery.proof.findings import Findings, site_file
from crawl_tasks.discovery.text.yaml_rules import scalar
from crawl_tasks.model import Post, Stage
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.parse.values.dates import read_date
from crawl_tasks.parse.values.text import letters
from crawl_tasks.parse.values.text import lines as lines_of
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site

_DAY_S: Final = 86_400
_UTC = ZoneInfo("UTC")
_OF_LIST = ("title", "author", "created_at", "reply_count", "last_reply_at")
_ID = re.compile(r"(?:^|[._])(?:[a-z]?id|uuid|key)$", re.IGNORECASE)


def by_api(probe: HttpProbe, drawn: Findings) -> Findings | None:
    """Return rules that read the API without a browser, None if the answers do not hold what the drawn pages show.

    The probe has drawn the pages of `drawn`.
    """
    text = site_file(drawn)
    known = score_of(probe, text)
    trials = [trial for trial in try_site(probe, compile_site(parse_site(text, drawn.name), None)) if trial.rows]
    lists = [trial for trial in trials if trial.request.stage is Stage.LIST]
    posts = [trial for trial in trials if trial.request.stage is Stage.POST]
    plain, headers = probe.plain()
    first = [(trial, trial.request.key, trial.rows) for trial in lists if trial.request.page == 1]
    rows = records_of(probe, "board", first)
    if rows is None:
        return None
    rows = replace(rows, fields=_rules(_OF_LIST, rows.pairs), second=_second_pages(probe, lists))
    for id_path in _ids(rows.pairs, "post_id")[:2]:
        threads = _threads(rows, id_path, posts)
        post, comments = _post(probe, threads), records_of(probe, "post", [thread for thread in threads if thread[2]])
        if post is None or (comments is None and any(shown for _, _, shown in threads)):
            continue
        lines = [f"headers: {json.dumps(headers)}"] if headers else []
        lines += list_lines(rows, id_path, {trial.request.key: len(shown) for trial, _, shown in threads})
        made = replace(drawn, has_board_addresses=False, rules="\n".join([*lines, *_thread_lines(post, comments)]))
        is_apart = comments is not None and comments.address != post.address
        if _is_as_good(score_of(plain, site_file(made)), known, is_apart=is_apart):
            return made
    return None


def _second_pages(probe: HttpProbe, lists: Sequence[DryRun]) -> list[str]:
    """Return the addresses of answers that second pages of lists asked for."""
    second = [trial for trial in lists if trial.request.page == 2]
    return [address for trial in second for address, _ in _asked(probe, trial, trial.request.key, "board")]


def _threads(rows: FoundRecords, id_path: str, posts: Sequence[DryRun]) -> list[tuple[DryRun, str, Sequence[Row]]]:
    """Return the threads with their keys in the API and their comments.

    The other threads are on a later list page, whose answers are not paired.
    """
    keys = {row.post_id: values.get(id_path, "") for row, values in flat(rows.pairs) if isinstance(row, Post)}
    threads = [(trial, keys.get(trial.request.key), trial.parsed) for trial in posts]
    return [(trial, key, parsed.items.comments if parsed else ()) for trial, key, parsed in threads if key]


def _thread_lines(post: FoundRecords, comments: FoundRecords | None) -> list[str]:
    post = replace(post, fields=_rules(("title", "author", "created_at", "body"), post.pairs))
    return thread_lines(post, *(_of_reply(comments) if comments else (None, None)))


def comment_rules(comments: FoundRecords) -> list[str]:
    """Return the lines of the comment stage, for comments with an address of their own."""
    return comment_lines(*_of_reply(comments))


def _of_reply(comments: FoundRecords) -> tuple[FoundRecords, str | None]:
    """Return comments with the rules of their fields, and the JMESPath of their ids."""
    ids = _ids(comments.pairs, "comment_id")
    fields = _rules(("author", "created_at", "body"), comments.pairs)
    return replace(comments, fields=fields), ids[0] if ids else None


def _is_as_good(score: tuple[int, int, int], known: tuple[int, int, int], *, is_apart: bool) -> bool:
    """Return whether rules are refuted as little as those for drawn pages, and read as many records, or nearly."""
    # Where comments are apart, half as many threads are tried.
    return score[0] >= known[0] and 10 * score[1] >= (5 if is_apart else 8) * known[1]


def _distance(name: str, shown: object, value: str | None) -> float | None:
    """Return how far a value is from what a page shows for a field, None for another value."""
    if value is None:
        return None
    if name.endswith("_at"):
        at = read_date(value, time.time(), _UTC)
        away = abs(at - shown) if at is not None and isinstance(shown, int) else _DAY_S
        return away if away < _DAY_S else None
    if name != "body":
        return 0.0 if " ".join(value.split()) == str(shown) else None
    wanted = letters(str(shown))
    # A drawn body is read without its quotes.
    whole = [len(text) for text in _spellings(value) if wanted in text and len(text) <= 2 * len(wanted)]
    return min(whole) / max(1, len(wanted)) - 1 if whole else None


def _spellings(value: str) -> tuple[str, str]:
    """Return the letters of a text as it stands, and as HTML."""
    return letters(value), letters(lines_of(value))


def _path(name: str, pairs: Pairs) -> str | None:
    """Return the JMESPath whose values are those that pages show for a field, in four of five records or more."""
    shown = [(getattr(row, name), values) for row, values in flat(pairs)]
    shown = [(value, values) for value, values in shown if value is not None]
    best: tuple[float, float, str] | None = None
    for path in dict.fromkeys(path for _, values in shown for path in values):
        distances = [_distance(name, value, values.get(path)) for value, values in shown]
        away = [distance for distance in distances if distance is not None]
        if 5 * len(away) >= 4 * len(shown) and (best is None or (-len(away), sum(away)) < best[:2]):
            best = (-len(away), sum(away), path)
    return best[2] if best else None


def _rules(names: Sequence[str], pairs: Pairs) -> dict[str, str]:
    rules: dict[str, str] = {}
    for name in names:
        path = _path(name, pairs)
        if path is None:
            continue
        rules[name] = f"{{json: {scalar(path)}}}"
        texts = [(letters(str(row.body)), _spellings(values.get(path, ""))) for row, values in flat(pairs)]
        if name == "body" and any(plain != body and body in html for body, (plain, html) in texts):
            rules |= {name: f"{{json: {scalar(path)}, text: lines}}", "body_html": f"{{json: {scalar(path)}}}"}
    return rules


def _ids(pairs: Pairs, name: str) -> list[str]:
    """Return the JMESPaths of values that differ in all records, likeliest first."""
    records = flat(pairs)
    equal: dict[str, int] = {}
    for path in paths_in(records):
        if len({values.get(path) for _, values in records} - {None}) == len(records):
            equal[path] = sum(values.get(path) == getattr(row, name) for row, values in records)
    return sorted((path for path in equal if equal[path] or _ID.search(path)), key=lambda path: -equal[path])


def _asked(probe: HttpProbe, trial: DryRun, key: str, name: str) -> Iterator[tuple[str, Json]]:
    """Yield the answers that a page asked for, by each template of their addresses that an id fits into."""
    for url, answer in probe.answers(trial.request.address):
        path = path_of(url).replace("{", "%7B").replace("}", "%7D")
        # The path of a page may be a parameter.
        parts = re.split(r"([\w~%-]+)", re.sub("%2F", "/", path, flags=re.IGNORECASE))
        for at in (at for at, part in enumerate(parts) if part == key):
            yield "".join((*parts[:at], f"{{{name}}}", *parts[at + 1 :])), answer


def records_of(probe: HttpProbe, name: str, pages: Sequence[tuple[DryRun, str, Sequence[Row]]]) -> FoundRecords | None:
    """Return the lists that hold most of the rows of drawn pages, by a text or an id that both have."""
    answers: dict[str, list[Json]] = defaultdict(list)
    pairs: dict[tuple[str, str, str], list[tuple[Row, Json]]] = defaultdict(list)
    others: Counter[tuple[str, str, str]] = Counter()
    for trial, key, rows in pages:
        for address, answer in _asked(probe, trial, key, name):
            answers[address].append(answer)
            for path, sign, entry, row in _paired(answer, rows):
                if row is None:
                    others[address, path, sign] += 1
                else:
                    pairs[address, path, sign].append((row, entry))
    best = max(pairs, key=lambda place: (len(pairs[place]), -others[place]), default=None)
    if best is None or 5 * len(pairs[best]) < 4 * sum(len(rows) for _, _, rows in pages):
        return None
    return FoundRecords(best[0], best[1], answers[best[0]], pairs[best])


def _paired(answer: Json, rows: Sequence[Row]) -> Iterator[tuple[str, str, Json, Row | None]]:
    """Yield the objects of an answer by their lists and by each field that may tell them, with their rows."""
    for (path, entries), sign in product(nested_lists(answer), ("title", "body", "comment_id")):
        known = {letters(str(text)): row for row in rows if (text := getattr(row, sign, None))}
        for entry in entries:
            texts = (text for _, value in scalars(entry) for text in _spellings(value))
            yield path, sign, entry, next((known[text] for text in texts if text in known), None)


def _post(probe: HttpProbe, threads: Sequence[tuple[DryRun, str, Sequence[Row]]]) -> FoundRecords | None:
    """Return the answers that hold title and text of threads."""
    pairs: dict[str, list[tuple[Row, Json]]] = defaultdict(list)
    for trial, key, _ in threads:
        for address, answer in _asked(probe, trial, key, "post"):
            pairs[address].append((trial.rows[0], answer))
    for address, answers in pairs.items():
        if len(answers) == len(threads) and _path("title", answers) and _path("body", answers):
            return FoundRecords(address, "", [], answers)
    return None
