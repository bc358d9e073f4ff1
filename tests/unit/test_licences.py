"""The licences of all packages that run with the crawler: those that it needs, and what these need."""

from __future__ import annotations

import re
from importlib import metadata

import pytest
from packaging.requirements import Requirement

FREE = re.compile(
    r"\b(MIT|MIT-0|0BSD|BSD|BSD-[23]-Clause|Apache|ISC|PSF-2\.0|Python Software Foundation|MPL|Mozilla)\b"
)
LESSER = {"psycopg", "psycopg-binary"}
"""LGPL 3.0: used as a library, and only with the extra `postgres`."""


def needed(name: str, found: set[str]) -> set[str]:
    """Return a package with all that it needs, here and on this Python."""
    name = re.sub(r"[-_.]+", "-", name).lower()
    if name in found:
        return found
    found.add(name)
    for text in metadata.requires(name) or ():
        requirement = Requirement(text)
        markers = [{"extra": ""}] if name != "crawl-tasks" else [{"extra": one} for one in ("", "archive", "files",
                   "login", "parquet", "postgres", "render")]  # fmt: skip
        if requirement.marker is None or any(requirement.marker.evaluate(one) for one in markers):
            needed(requirement.name, found)
    return found


def licence_of(name: str) -> str:
    about = metadata.metadata(name)
    named = [one.rpartition(":: ")[2] for one in about.get_all("Classifier") or () if one.startswith("License ::")]
    return str(about.get("License-Expression") or "; ".join(named) or about.get("License"))


@pytest.mark.parametrize("name", sorted(needed("crawl-tasks", set()) - {"crawl-tasks"}))
def test_a_package_that_runs_has_a_free_licence(name: str) -> None:
    licence = licence_of(name)

    if name in LESSER:
        assert licence == "LGPL-3.0-only"
        return
    assert FREE.search(licence), licence
    assert "GPL" not in licence.replace("LGPL-2.1-only OR MIT", "MIT")
