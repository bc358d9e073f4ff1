"""Each tutorial is carried out as it is written: every file, every command, every line of output."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from crawl_tasks.local.compare import compare_with_truth
from crawl_tasks.store.upsert import Store
from tests.docs.session import ROOT, Step, differences, session, steps, with_free_ports

FIRST, OWN_FORUM, PYTHON = "tutorial.md", "tutorial-own-forum.md", "tutorial-python.md"
ANALYSIS = "analysis/bin/python"

pytestmark = [pytest.mark.flow, pytest.mark.timeout(300)]


def written(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def needs_pandas(step: Step) -> bool:
    return step.text.startswith(ANALYSIS)


@pytest.mark.parametrize("name", [FIRST, PYTHON])
def test_a_tutorial_does_what_it_shows(name: str, tmp_path: Path) -> None:
    page = with_free_ports(written(name))

    with session(tmp_path) as reader:
        for step in steps(page):
            if not needs_pandas(step):
                reader.carry_out(step)

    assert len(list(steps(page))) > 5


def pandas_python() -> str | None:
    """Return a Python that has pandas, which is no dependency: this one, or the one that PANDAS_PYTHON names."""
    return sys.executable if importlib.util.find_spec("pandas") else os.environ.get("PANDAS_PYTHON")


@pytest.mark.long
def test_the_rows_of_the_first_tutorial_come_out_in_pandas(tmp_path: Path) -> None:
    python = pandas_python()
    if python is None:
        pytest.skip("no pandas here; set PANDAS_PYTHON to a Python that has it")
    page = with_free_ports(written(FIRST))

    with session(tmp_path) as reader:
        reader.analyst = python
        for step in steps(page):
            reader.carry_out(step)

    assert any(needs_pandas(step) and step.shown for step in steps(page))


@pytest.mark.long
def test_the_site_file_of_the_second_tutorial_stores_the_forum_as_it_is(tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    page = re.sub(r"(?<=crawl_tasks\.demo )(--port \d+)", rf"\1 --truth {truth}", with_free_ports(written(OWN_FORUM)))

    with session(tmp_path) as reader:
        for step in steps(page):
            reader.carry_out(step)

    with Store(f"sqlite:///{tmp_path / '.crawl' / 'crawl.db'}") as store:
        compared = compare_with_truth(store, "tutorial", truth)
    # The file that the reader writes has no rule for the ids of authors.
    wrong = {kind: (one.missing, one.surplus, one.differing.keys() - {"author_id"}) for kind, one in compared.items()}
    assert wrong == dict.fromkeys(compared, (0, 0, set()))
    assert compared["comments"].expected > 2000


def test_a_line_that_a_command_does_not_print_is_noticed() -> None:
    output = "one\ntwo   2\nthree\nfour\n"

    assert differences(["one", "two 2", "...", "four"], output) == []
    assert differences(["one", "three", "..."], output) == ["one", "three"]
    assert differences(["two 2", "..."], output) == ["two 2"]
    assert differences(["one", "two 2", "three"], output) == ["the output goes on behind the last line shown"]
    assert differences(["...", "five"], output) == ["five"]


def test_the_chinese_tutorial_has_the_same_blocks() -> None:
    ours, theirs = (
        [(step.name, step.text, step.shown) for step in steps(written(name))]
        for name in ("tutorial.md", "zh/tutorial.md")
    )

    assert theirs == ours
