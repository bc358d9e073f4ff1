"""Rule presets: names that a site file may write in place of long rules which fit most forums.

`usual-quotes` and `usual-edits` are in selectors, `usual-next` is a rule for `next`, `usual-empty` one for `empty`.
"""

from __future__ import annotations

import re
from typing import Final

NEXT_LINKS: Final = (
    "a[rel~=next i]",
    "link[rel=next i]:not([href*='=next'])",
    "a[class~=next i]",
    "a[class~=nxt i]",
    "li[class~=next i] a",
    "a[class*=next i]",
    "a[aria-label*=next i]",
    "a[title^=next i]",
    "[class*=pag i] a:has([class*=right i])",
)
"""Selectors of links to the next page, likeliest first. In old programs rel=next leads to the next thread too."""

EMPTY: Final = (
    r"(?i)\bno (?:\w+ )?(?:topics|threads|posts|discussions|questions)\b|nothing here"
    r"|keine (?:themen|beiträge)|aucun (?:sujet|message)|no hay|nessun|não há|nenhum|geen (?:onderwerpen|berichten)"
    r"|brak (?:tematów|postów|wątków)|žádn[áé] (?:témata|příspěvky)|konu yok|inga (?:ämnen|inlägg|trådar)|ingen emner"
    r"|δεν υπάρχουν|ei (?:aiheita|viestejä)|nincs(?:enek)? (?:téma|hozzá)|нет (?:тем|сообщ)|немає (?:тем|повідом)"
    r"|暂无|暫無|[还還][没沒]有|ありません|없습니다"
)
"""What a board without threads says, in the languages of most forums."""
# A word of a link alone may lead to the next thread: a page in the address has to show that it does not.
_WORDS = (
    "Next|Older|Older posts|Load more|Show more|Weiter|Nächste|Mehr laden|Ältere Beiträge|Suivant|Suivante"
    "|Afficher plus|Voir plus|Messages plus anciens|Siguiente|Cargar más|Ver más|Mensajes anteriores|Successiva"
    "|Próxima|Seguinte|Avanti|Volgende|Meer laden|Następna|Dalej|Další|Ďalšia|Sonraki|İleri|Nästa|Neste|Næste|Seuraava"
    "|Következő|Următoarea|Επόμενη|Επόμενο|Наступна|Далі|Следваща|Sljedeća|Sledeća|Berikutnya|Selanjutnya|Tiếp|Xem thêm"
    "|Следующая|Далее|Вперёд|Показать ещё|下一页|下一頁|下页|加载更多|次へ|もっと見る|다음|더 보기|הבא|التالي"
)
# XPath 1.0 knows no case.
_CAPITALS = "".join(sorted({char for char in _WORDS.upper() if len(char.lower()) == 1 and char.lower() != char}))
_WORDED = (
    f"//a[contains('|{_WORDS}|{_WORDS.lower()}|',"
    f" concat('|', normalize-space(translate(., '{_CAPITALS}›»→>|', '{_CAPITALS.lower()}')), '|'))]"
    "[contains(@href, 'page') or contains(@href, 'start=') or contains(@href, 'offset=') or contains(@href, 'after=')"
    " or substring-after(@href, '/p') > 1 or substring-after(@href, 'p=') > 1]"
)
_CSS: Final = {
    # Parts of a body that are not its author's, or not of the post.
    "quotes": (
        "blockquote, table:has(.quote), [class*=quot i], [class*=zitat i], [class*=citat i], [class*=signature i],"
        " [class*=sig- i], [class*=edited i], [class*=postedit i], [class*=updated i], [class*=actions i],"
        " [class*=-options i], [class*=codehead i]"
    ),
    # Few posts are edited, so most sample pages have no example.
    "edits": (
        "[class*=edited i], [class*=lastedit i], [class*=postedit i], [class*=post-edit i], [class*=post_edit i],"
        " [class*=edit-info i], [class*=modified i]"
    ),
}
_NAMED = re.compile(r"(?<![\w.#\[='\"*^$~|-])usual-([a-z]+)(?![\w-])")


def usual_css(selector: str) -> str:
    """Return a selector with the selectors of usual rules in place of their names.

    Raises:
        ValueError: there is no rule of this name.
    """

    def selectors(match: re.Match[str]) -> str:
        if match[1] not in _CSS:
            raise ValueError(f"{match[0]} is no usual rule; there are {', '.join(f'usual-{name}' for name in _CSS)}")
        return _CSS[match[1]]

    return _NAMED.sub(selectors, selector)


def usual_empty(value: object) -> object:
    """Return the rule of the usual words of a board without threads for its name, and any other value as it is."""
    return {"css": "body", "text": "lines", "regex": EMPTY} if value == "usual-empty" else value


def usual_next(value: object) -> object:
    """Return the rule of the usual links to a next page for its name, and any other value as it is."""
    if value != "usual-next":
        return value
    # On the last page some programs keep the link, without a target: href="#" or "".
    leads = {"attr": "href", "regex": "^[^#]+", "as": "url"}
    return {"first_of": [{"css": ", ".join(NEXT_LINKS), **leads}, {"xpath": _WORDED, **leads}], "as": "url"}
