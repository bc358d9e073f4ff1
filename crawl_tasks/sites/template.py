"""Address templates such as `/post/{post}` or `/t?id={post}&start={offset:25}`: checked, filled in, read back.

Only {board}, {post}, {page} and {offset:N} are filled in. Nothing else in braces is allowed, so that no text of a site
file is ever run as a format string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from pydantic import JsonValue

from crawl_tasks.errors import RefusedAddress
from crawl_tasks.model import Stage
from crawl_tasks.sites.field_rules import As
from crawl_tasks.sites.stages import StageSpec
from crawl_tasks.urls import normalize

_BRACES = re.compile(r"\{([^{}]*)\}")
_OFFSET = re.compile(r"offset:([1-9][0-9]{0,3})")
# Plain letters and digits pass the normalisation unchanged, where braces would be percent-encoded.
_MARKS = {"key": "Z0KEY0Z", "page": "Z0PAGE0Z", "offset": "Z0OFFSET0Z"}
_IS_PLAIN = re.compile(r"[A-Za-z0-9_~-]{1,200}").fullmatch
_LONGEST_KEY = 200


def key_name(stage: Stage) -> str:
    """Return the name of a stage's key in templates and identities: board or post."""
    return "board" if stage is Stage.LIST else "post"


@dataclass(frozen=True, slots=True)
class Template:
    """A checked template. `text` has {key}, {page} and {offset} to fill in, `step` is the N of {offset:N}."""

    text: str
    step: int = 0
    has_page: bool = False

    def address(self, key: str, page: int, step: int | None = None) -> str:
        """Return the normalised address of a page. `step` replaces the N of {offset:N}.

        Raises:
            RefusedAddress: No address can hold the key.
        """
        offset = (page - 1) * (step or self.step)
        # A plain key cannot change a normalised template, so the result needs no second normalisation.
        if _IS_PLAIN(key):
            return self.text.format(key=key, page=page, offset=offset)
        # A dot as key would be a dot segment, and the address that of another page.
        if key in ("", ".", "..") or len(key) > _LONGEST_KEY:
            raise RefusedAddress(f"an id of {len(key)} characters ({key[:20]!r}) makes no address")
        return normalize(self.text.format(key=quote(key, safe=""), page=page, offset=offset))

    def pattern(self, stage: Stage) -> re.Pattern[str]:
        """Return the regex that reads this template's addresses back, with the groups of `identity`."""
        text = re.escape(self.text)
        for name, group in (("key", key_name(stage)), ("page", "page"), ("offset", "offset")):
            inner = r"[^/?&#;]+" if name == "key" else r"[0-9]{1,9}"
            mark = re.escape("{" + name + "}")
            # A regex defines a group once. Further places must hold the same text.
            text = text.replace(mark, f"(?P<{group}>{inner})", 1).replace(mark, f"(?P={group})")
        return re.compile(text)


def normalize_below(base: str, address: str) -> str:
    """Return an address of a site file. An address with a slash in front lies below the path of `base`.

    Raises:
        RefusedAddress: The text is no address.
    """
    is_path = address.startswith("/") and not address.startswith("//")
    return normalize(base + address if is_path else address, f"{base}/")


def compile_template(text: str, *, stage: Stage, base: str) -> Template:
    """Return a checked, absolute template.

    Raises:
        ValueError: The text has unknown braces, lacks the key, or makes no address.
    """
    names: list[str] = []
    step = 0

    def mark(match: re.Match[str]) -> str:
        nonlocal step
        name, offset = match[1], _OFFSET.fullmatch(match[1])
        if offset:
            step = int(offset[1])
            name = "offset"
        elif name == key_name(stage):
            name = "key"
        elif name != "page" or stage is Stage.POST:
            raise ValueError(f"{stage}.address: may not have {{{name[:40]}}}; use {_allowed(stage)}")
        names.append(name)
        return _MARKS[name]

    marked = _BRACES.sub(mark, text)
    if "{" in marked or "}" in marked:
        raise ValueError(f"{stage}.address: has a brace without its pair: {text[:100]!r}")
    if "key" not in names:
        raise ValueError(f"{stage}.address: needs {{{key_name(stage)}}}: {text[:100]!r}")
    try:
        absolute = normalize_below(base, marked)
    except RefusedAddress as error:
        raise ValueError(f"{stage}.address: makes no address: {error}") from None
    for name, sign in _MARKS.items():
        absolute = absolute.replace(sign, "{" + name + "}")
    return Template(absolute, step, has_page="page" in names or "offset" in names)


def _allowed(stage: Stage) -> str:
    key = "{" + key_name(stage) + "}"
    return key if stage is Stage.POST else f"{key}, {{page}} or {{offset:N}}"


def check_addresses(stages: Mapping[Stage, StageSpec], base: str) -> None:
    """Raise ValueError, with stage and key, for a template or identity of a site that cannot work."""
    for stage, spec in stages.items():
        templates = [
            compile_template(text, stage=stage, base=base) for text in (spec.address, spec.first_address) if text
        ]
        has_page = bool(templates) and templates[0].has_page
        tellers = _tellers(stage, stages)
        by_link = has_page or any(teller.next is not None and teller.next.as_ is As.URL for teller in tellers)
        if stage is not Stage.POST and spec.parser is None and not by_link and any(map(_has_pages, tellers)):
            raise ValueError(f"{stage}.address needs {{page}} or {{offset:N}}, or next must be a link (as: url)")
        for text in _texts([*spec.body.form.values(), spec.body.json_value]) if spec.body else ():
            _check_placeholders(text, stage)
        for text in spec.identity:
            _check_identity(text, stage, has_step=any(template.step for template in templates))


def _texts(value: JsonValue) -> Iterator[str]:
    """Yield the texts of a JSON value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def _check_placeholders(text: str, stage: Stage) -> None:
    # GraphQL has braces of its own: only words of placeholders are looked at.
    for match in re.finditer(r"\{(board|post|page|offset:[^{}]*)\}", text):
        name = match[1]
        is_page = name == "page" or _OFFSET.fullmatch(name)
        if name != key_name(stage) and (stage is Stage.POST or not is_page):
            raise ValueError(f"{stage}.body: may not have {{{name[:40]}}}; use {_allowed(stage)}")


def _tellers(stage: Stage, stages: Mapping[Stage, StageSpec]) -> list[StageSpec]:
    """Return the stages whose pages lead to the next page of this stage."""
    return [
        stages[source] for source in ((Stage.POST, stage) if stage is Stage.COMMENT else (stage,)) if source in stages
    ]


def _has_pages(spec: StageSpec) -> bool:
    return any((spec.next, spec.pages, spec.total))


def _check_identity(text: str, stage: Stage, *, has_step: bool) -> None:
    groups = re.compile(text).groupindex
    key = key_name(stage)
    if key not in groups:
        raise ValueError(f"{stage}.identity needs a group (?P<{key}>...): {text[:100]!r}")
    if "offset" in groups and not has_step:
        raise ValueError(f"{stage}.identity has a group offset, but {stage}.address no {{offset:N}} to count by")
