"""API rules: proposed rules for the JSON API of a forum that scripts draw, from the answers that its pages ask for.

A value of an answer is a field where it agrees with what the drawn page shows, whatever its name.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Final
from zoneinfo import ZoneInfo

from crawl_tasks.discovery.dry_run import DryRun, try_site
from crawl_tasks.discovery.findings import Findings, site_file
from crawl_tasks.discovery.http_probe import HttpProbe
from crawl_tasks.discovery.links import path_of
from crawl_tasks.discovery.proposal import score_of
from crawl_tasks.discovery.site_check import letters
from crawl_tasks.discovery.yaml_rules import fields_text, scalar
from crawl_tasks.model import Comment, Post, Stage
from crawl_tasks.parse.json_ld import Json
from crawl_tasks.parse.values.dates import read_date
from crawl_tasks.parse.values.text import lines as lines_of
from crawl_tasks.registry.site_registry import compile_site
from crawl_tasks.sites.loader import parse_site

Row = Post | Comment
Pairs = Sequence[tuple[Row, Json]]
_DEEPEST: Final = 5
_DAY_S: Final = 86_400
_UTC = ZoneInfo("UTC")
_PAGE = re.compile(
    r"(?<=[?&])((?:page|p|pg|page_?(?:num(?:ber)?|no)|offset|start|skip|from)=)(\d+)(?=&|$)", re.IGNORECASE
)
_SIZE = re.compile(r"[?&](?:limit|size|count|take|per_?page|page_?size)=(\d+)", re.IGNORECASE)
_ID = re.compile(r"(?:^|[._])(?:[a-z]?id|uuid|key)$", re.IGNORECASE)
_PARENT = re.compile(r"parent|reply_?to|in_?reply|(?:^|[._])pid$", re.IGNORECASE)
_COUNT = re.compile(r"repl|comment|answer", re.IGNORECASE)
_LATEST = re.compile(r"last|latest|bump|updated|activ", re.IGNORECASE)
_NEXT = re.compile(r"next|more", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """Values in the answers to one kind of request, each with the row that the drawn page shows of it.

    `address` has a placeholder for the id of the board or thread. `path` is the JMESPath of a list of records.
    """

    address: str
    path: str
    answers: Sequence[Json]
    pairs: Pairs


def by_api(probe: HttpProbe, drawn: Findings) -> Findings | None:
    """Return rules that read the API without a browser, None if the answers do not hold what the drawn pages show.

    The probe has drawn the pages of `drawn`.
    """
    text = site_file(drawn)
    known = score_of(probe, text)
    trials = [one for one in try_site(probe, compile_site(parse_site(text, drawn.name), None)) if one.rows]
    lists = [one for one in trials if one.request.stage is Stage.LIST]
    posts = [one for one in trials if one.request.stage is Stage.POST]
    plain, headers = probe.plain()
    rows = records_of(probe, "board", [(one, one.request.key, one.rows) for one in lists if one.request.page == 1])
    for id_path in _ids(rows.pairs, "post_id")[:2] if rows else ():
        keys = {row.post_id: told.get(id_path, "") for row, told in _flat(rows.pairs)} if rows else {}
        # The other threads stand on a later list page, whose answers are not paired.
        threads = [(one, keys[one.request.key], one.parsed.items.comments if one.parsed else ())
                   for one in posts if keys.get(one.request.key)]  # fmt: skip
        post, comments = _post(probe, threads), records_of(probe, "post", [one for one in threads if one[2]])
        if rows is None or post is None or (comments is None and any(shown for _, _, shown in threads)):
            continue
        second = [address for one in lists if one.request.page == 2
                  for address, _ in _asked(probe, one, one.request.key, "board")]  # fmt: skip
        lines = [f"headers: {json.dumps(headers)}"] if headers else []
        lines += _list_lines(rows, id_path, second, {one.request.key: len(shown) for one, _, shown in threads})
        made = replace(drawn, has_board_addresses=False, rules="\n".join([*lines, *_thread_lines(post, comments)]))
        is_apart = comments is not None and comments.address != post.address
        if _is_as_good(score_of(plain, site_file(made)), known, is_apart=is_apart):
            return made
    return None


def _is_as_good(score: tuple[int, int, int], known: tuple[int, int, int], *, is_apart: bool) -> bool:
    """Return whether rules are refuted as little as those for drawn pages, and read as many records, or nearly."""
    # Where comments stand apart, half as many threads are tried.
    return score[0] >= known[0] and 10 * score[1] >= (5 if is_apart else 8) * known[1]


def _scalars(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield the texts and numbers of a document with their JMESPaths, of a list those of its first entry."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in value.items():
            yield from _scalars(inner, f"{path}.{_name(name)}" if path else _name(name), depth + 1)
    elif isinstance(value, list) and value and path:
        yield from _scalars(value[0], f"{path}[0]", depth + 1)
    elif isinstance(value, str | int | float):
        yield path, json.dumps(value) if isinstance(value, bool) else str(value)


def _lists(value: Json, path: str = "", depth: int = 0) -> Iterator[tuple[str, list[Json]]]:
    """Yield the lists of objects in a document with their JMESPaths, and each without its first object."""
    if isinstance(value, dict) and depth < _DEEPEST:
        for name, inner in value.items():
            yield from _lists(inner, f"{path}.{_name(name)}" if path else _name(name), depth + 1)
    elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
        yield path or "@", value
        yield f"{path}[1:]", value[1:]
        # Replies may stand in the record of the comment that they answer.
        for name in dict.fromkeys(name for one in value for name, _ in _inner(one)):
            within = f"{path or '@'}[].[[@], {_name(name)}][][]"
            yield within, [each for one in value for each in (one, *dict(_inner(one)).get(name, ()))]


def _inner(record: Json) -> Iterator[tuple[str, list[Json]]]:
    """Yield the lists of objects in a record, by name."""
    for name, value in record.items() if isinstance(record, dict) else ():
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            yield name, value


def _top(path: str) -> str:
    """Return the path of the list itself, for one whose records hold others."""
    return path.partition("[]")[0].removesuffix("[1:]") or "@"


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z_]\w*", key) else json.dumps(key)


def _flat(pairs: Pairs) -> list[tuple[Row, dict[str, str]]]:
    return [(row, dict(_scalars(told))) for row, told in pairs]


def _paths(told: Sequence[tuple[Row, dict[str, str]]]) -> dict[str, None]:
    return dict.fromkeys(path for _, one in told for path in one)


def _distance(name: str, shown: object, told: str | None) -> float | None:
    """Return how far a value is from what a page shows for a field, None for another value."""
    if told is None:
        return None
    if name.endswith("_at"):
        at = read_date(told, time.time(), _UTC)
        away = abs(at - shown) if at is not None and isinstance(shown, int) else _DAY_S
        return away if away < _DAY_S else None
    if name != "body":
        return 0.0 if " ".join(told.split()) == str(shown) else None
    said = letters(str(shown))
    # A drawn body is read without its quotes.
    whole = [len(one) for one in _spellings(told) if said in one and len(one) <= 2 * len(said)]
    return min(whole) / max(1, len(said)) - 1 if whole else None


def _spellings(told: str) -> tuple[str, str]:
    """Return the letters of a text as it stands, and as HTML."""
    return letters(told), letters(lines_of(told))


def _path(name: str, pairs: Pairs) -> str | None:
    """Return the JMESPath whose values are those that pages show for a field, in four of five records or more."""
    there = [(shown, told) for row, told in _flat(pairs) if (shown := getattr(row, name)) is not None]
    best: tuple[float, float, str] | None = None
    for path in dict.fromkeys(path for _, one in there for path in one):
        away = [found for shown, told in there if (found := _distance(name, shown, told.get(path))) is not None]
        if 5 * len(away) >= 4 * len(there) and (best is None or (-len(away), sum(away)) < best[:2]):
            best = (-len(away), sum(away), path)
    return best[2] if best else None


def _rules(names: Sequence[str], pairs: Pairs) -> dict[str, str]:
    rules: dict[str, str] = {}
    for name in names:
        path = _path(name, pairs)
        if path is None:
            continue
        rules[name] = f"{{json: {scalar(path)}}}"
        texts = [(letters(str(row.body)), _spellings(told.get(path, ""))) for row, told in _flat(pairs)]
        if name == "body" and any(plain != said and said in html for said, (plain, html) in texts):
            rules |= {name: f"{{json: {scalar(path)}, text: lines}}", "body_html": f"{{json: {scalar(path)}}}"}
    return rules


def _ids(pairs: Pairs, name: str) -> list[str]:
    """Return the JMESPaths of values that differ in all records, likeliest first."""
    told = _flat(pairs)
    paths = [path for path in _paths(told)
             if len({one.get(path) for _, one in told} - {None}) == len(told)]  # fmt: skip
    equal = {path: sum(one.get(path) == getattr(row, name) for row, one in told) for path in paths}
    return sorted((path for path in paths if equal[path] or _ID.search(path)), key=lambda path: -equal[path])


def _asked(probe: HttpProbe, trial: DryRun, key: str, name: str) -> Iterator[tuple[str, Json]]:
    """Yield the answers that a page asked for, by each template of their addresses that an id fits into."""
    for url, answer in probe.answers(trial.request.address):
        told = path_of(url).replace("{", "%7B").replace("}", "%7D")
        # The path of a page may be a parameter.
        parts = re.split(r"([\w~%-]+)", re.sub("%2F", "/", told, flags=re.IGNORECASE))
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
            for (path, told), sign in product(_lists(answer), ("title", "body", "comment_id")):
                known = {letters(str(text)): row for row in rows if (text := getattr(row, sign, None))}
                for one in told:
                    texts = [text for _, value in _scalars(one) for text in _spellings(value)]
                    fit = next((known[text] for text in texts if text in known), None)
                    if fit is None:
                        others[address, path, sign] += 1
                    else:
                        pairs[address, path, sign].append((fit, one))
    best = max(pairs, key=lambda one: (len(pairs[one]), -others[one]), default=None)
    if best is None or 5 * len(pairs[best]) < 4 * sum(len(rows) for _, _, rows in pages):
        return None
    return FoundRecords(best[0], best[1], answers[best[0]], pairs[best])


def _post(probe: HttpProbe, threads: Sequence[tuple[DryRun, str, Sequence[Row]]]) -> FoundRecords | None:
    """Return the answers that hold title and text of threads."""
    pairs: dict[str, list[tuple[Row, Json]]] = defaultdict(list)
    for trial, key, _ in threads:
        for address, answer in _asked(probe, trial, key, "post"):
            pairs[address].append((trial.rows[0], answer))
    for address, there in pairs.items():
        if len(there) == len(threads) and _path("title", there) and _path("body", there):
            return FoundRecords(address, "", [], there)
    return None


def _list_lines(rows: FoundRecords, id_path: str, second: Sequence[str], replies: Mapping[str, int]) -> list[str]:
    told = _flat(rows.pairs)
    fields = _rules(("title", "author", "created_at", "reply_count", "last_reply_at"), rows.pairs)
    for path in _paths(told):
        numbers = [(one[path], replies[row.post_id]) for row, one in told if row.post_id in replies and path in one]
        if _COUNT.search(path) and all(text.isdigit() and int(text) >= least for text, least in numbers) and any(
            least and int(text) == least for text, least in numbers
        ):  # fmt: skip
            fields.setdefault("reply_count", _json(path))
        if _LATEST.search(path) and all(read_date(one.get(path, ""), time.time(), _UTC) for _, one in told):
            fields.setdefault("last_reply_at", _json(path))
    address, pager = _pages(rows, second)
    signs = [name for name in ("reply_count", "last_reply_at") if name in fields]
    lines = ["list:", *address, f"  record: {_json(rows.path)}", f"  empty: {_json(f'type({rows.path})')}"]
    lines += fields_text({"post_id": _json(id_path)} | fields, 2)
    return [*lines, *([f"  revision: [{', '.join(signs)}]"] if signs else []), pager]


def _thread_lines(post: FoundRecords, comments: FoundRecords | None) -> list[str]:
    fields = fields_text(_rules(("title", "author", "created_at", "body"), post.pairs), 2)
    lines = ["post:", "  format: json", f"  address: {scalar(post.address)}", *fields]
    if comments is None:
        return [*lines, "# No comments were found: add `comment`, if there are any."]
    if comments.address != post.address:
        return [*lines, *comment_lines(comments)]
    every = comments.path.removesuffix("[1:]")
    address, pager = _pages(replace(comments, path=every), ())
    reply = fields_text(_reply(comments.pairs), 2)
    own = [f"  record: {_json(comments.path)}", *reply]
    lines += ["  comments:", *(f"  {line}" for line in own), pager, "comment:", "  first_page: 2"]
    if not pager.startswith("  next"):
        return [*lines, address[0], *own]
    # The post stands before the comments of the first page alone.
    return [*lines, *address, f"  empty: {_json(f'type({_top(every)})')}", f"  record: {_json(every)}", *reply, pager]


def comment_lines(comments: FoundRecords) -> list[str]:
    """Return the lines for comments with an address of their own."""
    address, pager = _pages(comments, ())
    lines = ["comment:", *address, f"  empty: {_json(f'type({_top(comments.path)})')}"]
    return [*lines, f"  record: {_json(comments.path)}", *fields_text(_reply(comments.pairs), 2), pager]


def _reply(pairs: Pairs) -> dict[str, str]:
    told = _flat(pairs)
    ids = _ids(pairs, "comment_id")
    reply = {"comment_id": _json(ids[0])} if ids else {}
    known = {one[ids[0]] for _, one in told} if ids else set()
    for path in (path for path in _paths(told) if "[" not in path and _PARENT.search(path)):
        named = [(one[path], one[ids[0]]) for _, one in told if ids and path in one]
        # What each record says of itself is no parent.
        if {parent for parent, _ in named} <= known and not any(parent == own for parent, own in named):
            reply.setdefault("parent_id", _json(path))
    return reply | _rules(("author", "created_at", "body"), pairs)


def _json(path: str) -> str:
    return f"{{json: {scalar(path)}}}"


def _pages(found: FoundRecords, second: Sequence[str]) -> tuple[list[str], str]:
    """Return the lines of addresses, and the rule of the next page, by the address that a second page asked for."""
    top = _top(found.path)
    size = max(len(dict(_lists(one)).get(top, ())) for one in found.answers)
    flat = [dict(_scalars(one)) for one in found.answers]
    named = [path for path in dict.fromkeys(chain(*flat)) if _NEXT.search(path) and "[" not in path]
    start = found.address.partition("?")[0]
    every = next(filter(None, (_paged(one, size, 2) for one in second if one.startswith(start))), None)
    every = every or _paged(found.address, size, 1)
    lines = ["  format: json", f"  address: {scalar(every or found.address)}"]
    if every is None:
        links = [path for path in named if any(re.match("/|http", one.get(path, "")) for one in flat)]
        return lines, f"  next: {{json: {scalar(links[0])}, as: url}}" if links else "  pages: {json: '`1`'}"
    if re.sub(r"\{(page|offset:\d+)\}", lambda mark: "1" if mark[1] == "page" else "0", every) != found.address:
        lines.append(f"  first_address: {scalar(found.address)}")
    flags = [path for path in named if all(one.get(path) in ("true", "false") for one in flat)]
    return lines, f"  next: {_json(flags[0] if flags else f'length({top}) >= `{max(size, 1)}`')}"


def _paged(address: str, size: int, page: int) -> str | None:
    """Return the template of all pages by the address of one, None without a number of pages or records in it."""
    asked, found = _SIZE.search(address), _PAGE.search(address)
    if found is None:
        return None
    value, is_offset = int(found[2]), not found[1].lower().startswith("p")
    step = value if is_offset and page > 1 else int(asked[1]) if asked else size
    mark = f"{{offset:{step}}}" if is_offset else "{page}" if value == page else "{offset:1}"
    return f"{address[: found.start(2)]}{mark}{address[found.end(2) :]}"
