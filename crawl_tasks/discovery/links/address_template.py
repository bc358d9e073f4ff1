"""Address templates of an unknown forum, inferred from one address or two. Pure."""

from __future__ import annotations

import re

from crawl_tasks.discovery.links.address_shape import path_of

# A cursor such as `cm93Ojg` has digits between letters: no page number.
_COUNTED = re.compile(r"(?<![A-Za-z0-9]{5})(\d+)(?![A-Za-z0-9])")
# The name of a parameter behind which the last record of a page stands, and no place in a list.
_CURSOR = re.compile(r"(?:after|before|cursor|since|until|from|last)\w*=$", re.IGNORECASE)
# No forum shows so many records on a page: a step of more is the id of a record.
_MOST_A_PAGE = 1000


def template_of(url: str, key: str, name: str) -> str:
    """Return an address as a template, with a placeholder for the key."""
    path = path_of(url)
    start, end = _place_of(key, path) or (len(path), len(path))
    before, after = (part.replace("{", "%7B").replace("}", "%7D") for part in (path[:start], path[end:]))
    return before + "{" + name + "}" + after if end > start else before


def _place_of(key: str, path: str) -> tuple[int, int] | None:
    """Return where a key stands, as a whole word if it does: not the `2` of `/forum2/2`, not within `/subcategory/`."""
    text = re.escape(key)
    begins, ends = rf"(?<![A-Za-z0-9{{]){text}", rf"{text}(?![A-Za-z0-9])"
    kinds = (rf"{begins}(?![A-Za-z0-9])", rf"(?<!\d){text}(?!\d)" if key.isdigit() else f"{begins}|{ends}")
    matches = next(filter(None, (list(re.finditer(kind, path)) for kind in kinds)), None)
    if not matches:
        return None
    # Numbers of the page are behind that of the board, names of sections before that of the board.
    return matches[0 if key.isdigit() else -1].span()


def _lead(text: str) -> str:
    """Return the text before a number from its parameter's name on."""
    return re.split("[?&;]", text)[-1]


def paged_template(first: str, following: str, key: str, name: str) -> str | None:
    """Return the template for addresses like page 2, `following`, None without a page number in them."""
    tokens, before = _COUNTED.split(path_of(following)), _COUNTED.split(path_of(first))
    numbers = range(1, len(tokens), 2)
    known = {_lead(before[place - 1]): before[place] for place in range(1, len(before), 2)}
    # Of `?p=2&id=2` the number with the name that the first page has is the key.
    equal = [place for place in numbers if tokens[place] == key]
    at_key = next((place for place in equal if known.get(_lead(tokens[place - 1])) == key), next(iter(equal), None))
    if at_key is None and key.isdigit():
        return None
    others = [place for place in numbers if place != at_key]
    changed = [place for place in others if known.get(_lead(tokens[place - 1])) != tokens[place]]
    changed = [place for place in changed if int(tokens[place]) > 1]
    if not changed:
        return None
    at_page = changed[-1]
    value, old = int(tokens[at_page]), int(known.get(_lead(tokens[at_page - 1]), 0))
    is_page = value == 2 and old in (0, 1)
    step = value - old if len(tokens) == len(before) else value
    if not is_page and (step > _MOST_A_PAGE or _CURSOR.search(tokens[at_page - 1])):
        return None
    tokens[at_page] = "{page}" if is_page else f"{{offset:{step}}}"
    if at_key is not None:
        tokens[at_key] = "{" + name + "}"
        return "".join(tokens)
    whole = "".join(tokens)
    place = _place_of(key, whole)
    return whole[: place[0]] + "{" + name + "}" + whole[place[1] :] if place else None
