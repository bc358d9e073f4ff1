"""Notes of edits by the language packs of programs: read as the moment of the edit, and no part of a text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from crawl_tasks.model import Stage
from tests.unit.presets import Preset

VBULLETIN = """<html lang="{lang}">
<div id="breadcrumb"><li class="navbit"><a href="forumdisplay.php?f=1">B</a></li></div>
<span class="threadtitle">Title</span><ol id="posts">{posts}</ol></html>"""
VBULLETIN_POST = """<li class="postcontainer" id="post_{number}"><div class="posthead"><span class="date">{date},&nbsp;
<span class="time">{time}</span></span></div><div class="username_container"><a class="username">ann7</a></div>
<div class="postbody"><blockquote class="postcontent restore">say {number}</blockquote>
<blockquote class="postcontent lastedited">{note}</blockquote></div></li>"""
MYBB = """<html lang="{lang}"><div id="content">
<table><tr><td class="thead"><div><strong>Title</strong></div></td></tr>
</table>
<div id="posts">{posts}</div></div></html>"""
MYBB_POST = """<div class="post" id="post_{number}">
<div class="author_information"><strong>
<span class="largetext"><a>ann</a></span></strong></div><span class="post_date">{date}, {time} <span class="post_edit">
<span class="edited_post">{note}</span></span></span><div class="post_body">say {number}</div></div>"""
SMF = """<html lang="{lang}"><div id=forumposts><h3 class=catbg>Topic: A (Read 1 times)</h3>{posts}</div></html>"""
SMF_POST = """<div class=windowbg><div class=post_wrapper><div class=poster><h4><a>ann</a></h4></div>
<div class=postarea><div class=keyinfo><div class=smalltext>« <strong>{when}:</strong> {date}, {time} »</div></div>
<div class=post><div class=inner id=msg_{number}>say {number}</div></div>
<div class=smalltext id=modified_{number}>{note}</div>
</div></div></div>"""
PROGRAMS = {"vbulletin4": (VBULLETIN, VBULLETIN_POST), "mybb": (MYBB, MYBB_POST), "smf": (SMF, SMF_POST)}
AT = "2009-11-08 13:53"


@pytest.mark.parametrize(
    ("engine", "lang", "date", "note"),
    [
        ("vbulletin4", "de", "08.11.2009", "Geändert von Max (alt) (08.11.2009 um <span class=time>13:53</span> Uhr)"),
        (
            "vbulletin4",
            "fr",
            "08/11/2009",
            "Dernière modification par ann7 ; 08/11/2009 à <span class=time>13h53</span>.",
        ),
        (
            "vbulletin4",
            "ru",
            "08.11.2009",
            "Последний раз редактировалось ann7; 08.11.2009 в <span>13:53</span>. Причина: 1",
        ),
        ("vbulletin4", "es", "08/11/2009", "Última edición por ann7; 08/11/2009 a las <span>13:53</span>. Razón: 12"),
        ("vbulletin4", "it", "08-11-2009", "Ultima modifica di ann7; 08-11-2009 alle <span>13:53</span>"),
        (
            "vbulletin4",
            "en",
            "11-08-2009",
            "Last edited by ann7; 11-08-2009 at <span>01:53 PM</span>. <i>Reason:</i> 10:05",
        ),
        ("vbulletin4", "el", "08-11-2009", "Τελευταία επεξεργασία από ann7; 08-11-2009 στις <span>01:53 μμ</span>."),
        ("vbulletin4", "fi", "08.11.2009", "Viimeisin muokkaaja: ann7; 08.11.2009 <span>13.53</span>."),
        ("mybb", "de", "08.11.2009", "(Dieser Beitrag wurde zuletzt bearbeitet: 08.11.2009, 13:53 von <a>ann7</a>.)"),
        ("mybb", "fr", "08-11-2009", "(Modification du message : 08-11-2009, 13:53 par <a>ann7</a>. <em>12:10</em>)"),
        ("mybb", "en", "11-08-2009", "(This post was last modified: 11-08-2009, 01:53 PM by <a>ann7</a>.)"),
        ("mybb", "ru", "08.11.2009", "(Последний раз сообщение было отредактировано: 08.11.2009, 13:53 <a>ann7</a>.)"),
        ("smf", "de", "08. November 2009", "<em>« Letzte Änderung: 08. November 2009, 13:53:00 von ann7 »</em>"),
        ("smf", "fr", "08 novembre 2009", "<em>« Modifié: 08 novembre 2009 à 13:53:00 par ann7 »</em>"),
        ("smf", "ru", "08 ноября 2009", "<em>« Последнее редактирование: 08 ноября 2009, 13:53:00 от ann7 »</em>"),
        ("smf", "en", "November 08, 2009", "<em>« Last Edit: November 08, 2009, 01:53:00 PM by ann7 »</em>"),
        (
            "smf",
            "es",
            "08 de noviembre de 2009",
            "<em>« Última modificación: 08 de noviembre de 2009, 13:53:00 por ann7 »</em>",
        ),
    ],
)
def test_a_note_of_an_edit_is_read_in_the_language_of_the_forum(engine: str, lang: str, date: str, note: str) -> None:
    page, post = PROGRAMS[engine]
    year_first = "25-12-2008" if not date.startswith("11-08") else "12-25-2008"
    shown = [(date, "01:53 PM" if lang == "en" else "13:53"), (year_first, "03:10 PM" if lang == "en" else "15:10")]
    posts = [
        post.format(number=number, date=day, time=time, note=note, when="Reply #1 on")
        for number, (day, time) in enumerate([shown[0], *shown], 101)
    ]

    parsed = Preset(engine).parse(Stage.POST, "7", page.format(lang=lang, posts="".join(posts)))

    items = [*parsed.items.posts, *parsed.items.comments]
    moments = [None if one.edited_at is None else datetime.fromtimestamp(one.edited_at, UTC) for one in items]
    assert [f"{at:%Y-%m-%d %H:%M}" if at else None for at in moments] == [AT] * 3
    assert [one.body for one in items] == ["say 101", "say 102", "say 103"]
