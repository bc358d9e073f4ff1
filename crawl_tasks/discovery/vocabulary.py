"""The vocabulary of forums: labels of numbers and links, in the languages of most forums. Pure."""

from __future__ import annotations

import re

REPLIES = re.compile(
    r"repl|comment|comentari|answer|post-?count|posts?\b|respon|antwort|beitr|kommentar|réponse|respuesta|risposte|rispost|reacti"
    r"|odpowied|ответ|сообщен|коммент|回|返信|评论|評論|レス|コメント|댓글|답글",
    re.IGNORECASE,
)
# Headings of a column that counts a thread's first post too.
POSTS = re.compile(r"^\W*(?:posts|messages|beiträge|сообщений|帖子|帖数)\W*$", re.IGNORECASE)
VIEWS = re.compile(
    r"views?\b|hits?\b|\breads?\b|visits?\b|aufruf|zugriff|gelesen|\bvues?\b|visto|vistas|visite|просмотр|看|浏览|瀏覽|閲覧|조회",
    re.IGNORECASE,
)
LATEST = re.compile(
    r"\blast|latest|letzte|neueste|derni|último|ultimo|laatste|последн|最后|最後|最新|最終|마지막", re.IGNORECASE
)
EDITED = re.compile(
    r"\bedited\b|\bmodified\b|\bupdated\b|bearbeitet|geändert|editiert|modifié|édité|editado|modificad|modificat|bewerkt|redigerad"
    r"|edytowan|отредактир|измен[её]н|编辑|編輯|修改|編集|수정",
    re.IGNORECASE,
)
BYLINE = (
    r"(?is)(?:^|\W)(?:by|von|par|por|door|przez|автор|от|作者|投稿者)(?:\s*[:：]\s*|\s+)(.+?)"
    r"(?:\s?[,|·•»(\[，（].*|\s[-–—]\s.*|\s(?:on|at|wrote|am|um|le|à|el|op)\s.*)?$"
)
"""The author of `Posted by Mary on Friday`, of `von Mary » 3. Mai` and their like."""
EMPTY = (
    r"(?i)\bno (?:\w+ )?(?:topics|threads|posts|discussions|questions)\b|nothing here"
    r"|keine (?:themen|beiträge)|aucun (?:sujet|message)|no hay|nessun|нет (?:тем|сообщ)"
    r"|暂无|暫無|[还還][没沒]有|ありません|없습니다"
)
MISSING = re.compile(
    r"\bno (?:such|longer)\b|\bno (?:topic|thread|post|message|discussion|question)\b"
    r"|n[o'’]t (?:be )?(?:found|exist|valid)"
    r"|\binvalid\b|\bmissing\b|\bdeleted\b|\bremoved\b|nowhere|nicht (?:mehr )?(?:gefunden|vorhanden|existier)"
    r"|existiert nicht|gelöscht|ungültig|n.existe (?:pas|plus)|introuvable|supprimé|no existe|no se (?:ha )?encontr"
    r"|eliminad|não (?:existe|encontr)|non esiste|non (?:è stat\w )?trovat|eliminat|bestaat niet|niet gevonden"
    r"|verwijderd|nie istnieje|nie znalezion|usunięt|finns inte|не существ|не найден|удал[её]н|не існує"
    r"|不存在|找不到|[没沒]有找到|删除|刪除|見つかりま|存在しま|削除|찾을 수 없|존재하지|삭제",
    re.IGNORECASE,
)
"""Words that say that there is no such thread."""
SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]*")
# A word alone or with a noun: `Next`, `next page`, `older posts`. Arrows may stand beside.
_NEXT = (
    r"next|older|more|show more|load more|view more|weiter|nächste|ältere|mehr(?: laden| anzeigen)?|suivante?s?"
    r"|plus anciens|voir plus|charger plus|siguiente|más"
    r"|successiv|avanti|próxima|seguinte|volgende|następna|далее|следующая|вперёд|(?:показать |загрузить )?ещё"
)
# No `topic` or `thread` in the singular: the next topic is another one.
_OF = r"page|posts?|topics|threads|discussions|comments?|replies|entries|seite|beiträge|themen|page|página|страница"
_EAST = (
    "下一页|下一頁|下页|下頁|后一页|後一頁|更多|加载更多|查看更多|次へ|次のページ|次の\\d*件|もっと見る|さらに読み込む"
    "|다음|다음 페이지"
)
NEXT = re.compile(rf"\W*(?:(?:p[aá]gina? |page )?(?:{_NEXT})(?: (?:{_OF}))?|{_EAST})\W*", re.IGNORECASE)
ARROWS = re.compile(r"[›»>→]+")
