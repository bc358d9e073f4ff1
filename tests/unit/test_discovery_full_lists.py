"""Pages of the newest threads alone: what is refuted, and numbers before titles beside addresses with names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from crawl_tasks.discovery.links.links import links_of
from crawl_tasks.model import Fetched
from crawl_tasks.parse.document import Document
from tests.programs.host import Answer, Ask, page, served
from tests.unit.command_line import run

BOARDS = ("lamps", "doors", "garden")


def day(number: int) -> str:
    return f"2024-05-{number + 1:02} 10:00"


def board(name: str, count: int) -> str:
    """Return the page of a board with so many threads, and no next page."""
    at = BOARDS.index(name)
    rows = "".join(
        f"<tr><td><a href=/topic/{at}{n:03}>Old {name} of house {n}</a><td>ann{n % 3}<td>{n % 5} replies<td>{day(n)}"
        for n in range(count)
    )
    return f"<title>{name}</title><h1>{name}</h1><table class=topics>{rows}</table>"


@pytest.mark.parametrize(
    ("counts", "is_refuted"),
    [((12, 12, 12), True), ((12, 12, 11), False), pytest.param((9, 9, 9), False, marks=pytest.mark.long)],
)
def test_boards_that_all_end_after_as_many_threads_are_refuted(
    counts: tuple[int, ...], is_refuted: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    def answer(ask: Ask) -> Answer:
        name = ask.path.removeprefix("/board/")
        if ask.path == "/":
            links = "".join(f"<li class=board><a href=/board/{one}>All about {one}</a>" for one in BOARDS)
            return page(f"<title>Our forum</title><ul>{links}</ul>")
        if name in BOARDS:
            return page(board(name, counts[BOARDS.index(name)]))
        if not ask.path.startswith("/topic/"):
            return page("not here", 404)
        number = ask.path.removeprefix("/topic/")
        posts = "".join(
            f"<div class=post id=p{number}{n}><b class=author>ann{n}</b><i>{day(n)}</i><p>Words {number} of {n}."
            for n in range(int(number[-3:]) % 5 + 1)
        )
        text = f"Old {BOARDS[int(number[0])]} of house {int(number[1:])}"
        return page(f"<title>{text}</title><h1>{text}</h1>{posts}")

    with served(SimpleNamespace(answer=answer)) as host:
        said = run("new", host.url, "--name", "demo", home=tmp_path_factory.mktemp("home")).stderr

    assert "boards    3" in said
    assert ("refuted   boards end where their first pages do: " in said) is is_refuted, said


def test_numbers_before_titles_have_another_shape_than_names_of_people() -> None:
    rows = "".join(
        f"<li><a href=/{1000 + n}/old-lamp-{word}>An old lamp</a> by <a class=user href=/user/{word}>{word}</a>"
        for n, word in enumerate(("ann", "bob", "carl", "dora"))
    )
    body = f"<ul>{rows}</ul>"
    document = Document(Fetched("http://a.example/", 200, {"content-type": "text/html"}, body.encode(), 0.0))

    assert len(links_of(document)["/#/~"]) == 4
