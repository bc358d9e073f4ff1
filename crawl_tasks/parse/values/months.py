"""Month names in the languages that most forums use, for dates.py. Pure tables."""

from __future__ import annotations

_NAMES = """
january february march april may june july august september october november december
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
"""
_MONTHS = {name: month for line in _NAMES.split("\n") for month, name in enumerate(line.split(), 1)}
_LEAST = 3


def month_of(word: str) -> int | None:
    """Return the month, 1 to 12, that a lower-case word names or begins to name, None without a single match."""
    if word in _MONTHS:
        return _MONTHS[word]
    if len(word) < _LEAST:
        return None
    begun = {month for name, month in _MONTHS.items() if name.startswith(word)}
    # `sept` and `fév` end early; `jui` could be two months, and is none.
    return begun.pop() if len(begun) == 1 else None
