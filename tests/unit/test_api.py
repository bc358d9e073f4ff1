"""The Python API: a site's function needs nothing but `crawl_tasks.api`, and its page names all of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from crawl_tasks import api
from crawl_tasks.errors import SiteError
from crawl_tasks.sites.functions import find_function
from tests.flow.world import ROOT

PAGE = (ROOT / "docs" / "python-api.md").read_text("utf-8")


def test_the_page_names_every_name_of_the_api_and_no_other() -> None:
    tables = re.findall(r"^\| (`.*?`) \|", PAGE, re.MULTILINE)
    named = set(re.findall(r"`(\w+)", " ".join(tables)))

    assert named == set(api.__all__)


def test_the_functions_of_the_page_read_a_thread_and_drop_an_advert() -> None:
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], names)
    request = api.Request("demo", api.Stage.POST, "7", "http://127.0.0.1/7")

    [post] = names["read_thread"](request, BeautifulSoup("<h1> Tea </h1>", "lxml"))
    advert = post._replace(body="see http://spam.example")

    assert (post.post_id, post.title) == ("7", "Tea")
    assert names["without_adverts"](post) is post
    assert names["without_adverts"](advert) == api.DropItem("advert")
    with pytest.raises(api.Gone):
        list(names["read_thread"](request, BeautifulSoup("<p class=deleted-notice>", "lxml")))


def test_importing_the_api_loads_neither_celery_nor_redis_nor_a_database() -> None:
    code = "import sys, crawl_tasks.api; print(*{'celery', 'redis', 'sqlalchemy', 'requests'} & {*sys.modules})"

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_a_function_that_imports_from_a_module_that_moved_is_told_where_its_names_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old_names.py").write_text("from crawl_tasks.items.verdict import Drop\n", "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(SiteError, match=r"import our names from crawl_tasks\.api"):
        find_function("old_names:step", "demo: items", ("item",))
