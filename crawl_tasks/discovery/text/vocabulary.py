"""The vocabulary of forums: labels of numbers and links, in the languages of most forums. Pure."""

from __future__ import annotations

import re

REPLIES = re.compile(
    r"repl|comment|comentari|answer|post-?count|posts?\b|respon|antwort|beitr|kommentar|réponse|respuesta|risposte|rispost|reacti"
    r"|odpowied|odpověd|odpoved|\bsvar|yanıt|cevap|απαντ|vastau|válasz|răspuns|відповід|отговор|odgovor|balasan|trả lời"
    r"|תגוב|ردود|ответ|сообщен|коммент|回|返信|评论|評論|レス|コメント|댓글|답글",
    re.IGNORECASE,
)
# Headings of a column that counts a thread's first post too.
POSTS = re.compile(
    r"^\W*(?:posts|messages|beiträge|сообщений|帖子|帖数|berichten|mensajes|messaggi|mensagens|posty|příspěvky|mesajlar"
    r"|inlägg|indlæg|innlegg|viestit|hozzászólások|δημοσιεύσεις|дописи|повідомлення)\W*$",
    re.IGNORECASE,
)
VIEWS = re.compile(
    r"views?\b|hits?\b|\breads?\b|visits?\b|aufruf|zugriff|gelesen|\bvues?\b|visto|vistas|visite|visualiz|weergaven"
    r"|bekeken|wyświetl|odsłon|zobrazen|görüntülen|görüntüleme|visninga?r|προβολ|katselu|megtekint|vizualiz|перегляд"
    r"|прегледи|pregled|dilihat|lượt xem|צפיות|مشاهد|просмотр|看|浏览|瀏覽|閲覧|조회",
    re.IGNORECASE,
)
LATEST = re.compile(
    r"\blast|latest|letzte|neueste|derni|último|ultimo|ultimul|laatste|ostatni|posledn|posljednj|zadnj|senaste|seneste"
    r"|\bsiste\b|\bson (?:mesaj|ileti|yanıt)|τελευτα|viimei|utolsó|legutóbbi|последн|останн|terakhir|cuối|אחרונ"
    r"|最后|最後|最新|最終|마지막|최근",
    re.IGNORECASE,
)
EDITED = re.compile(
    r"\bedited\b|\bmodified\b|\bupdated\b|bearbeitet|geändert|editiert|modifié|édité|editado|edición|modificad|modificat"
    r"|bewerkt|redigera|rediger|endret|edytowan|zmienion|upraven|upravil|düzenle|επεξεργ[αά]|muokat|szerkeszt|módosít|diubah"
    r"|disunting|chỉnh sửa|sửa (?:đổi|lần)|редагован|редактиран|отредактир|измен[её]н|נערך|تعديل"
    r"|编辑|編輯|修改|編集|수정",
    re.IGNORECASE,
)
BYLINE = (
    r"(?is)(?:^|\W)(?:by|von|par|por|door|av|af|przez|autor|od|gönderen|yazan|από|від|автор|от|oleh|bởi|작성자|글쓴이"
    r"|作者|投稿者)(?:\s*[:：]\s*|\s+)(.+?)"
    r"(?:\s?[,|·•»(\[，（].*|\s[-–—]\s.*|\s(?:on|at|wrote|am|um|le|à|el|op)\s.*)?$"
)
"""The author of `Posted by Mary on Friday`, of `von Mary » 3. Mai` and their like."""
MISSING = re.compile(
    r"\bno (?:such|longer)\b|\bno (?:topic|thread|post|message|discussion|question)\b"
    r"|n[o'’]t (?:be )?(?:found|exist|valid)"
    r"|\binvalid\b|\bmissing\b|\bdeleted\b|\bremoved\b|nowhere|nicht (?:mehr )?(?:gefunden|vorhanden|existier)"
    r"|existiert nicht|gelöscht|ungültig|n.existe (?:pas|plus)|introuvable|supprimé|no existe|no se (?:ha )?encontr"
    r"|eliminad|não (?:existe|encontr)|non esiste|non (?:è stat\w )?trovat|eliminat|bestaat niet|niet gevonden"
    r"|verwijderd|nie istnieje|nie znalezion|usunięt|finns inte|hittades inte|fin[dn]es ikke|slettet|neexistuje|nenalez"
    r"|smazán|bulunamadı|silin(?:di|miş)|δεν (?:υπάρχει|βρέθηκε)|ei löydy|poistettu|nem található|törölt|nu există"
    r"|tidak ditemukan|dihapus|không (?:tồn tại|tìm thấy)|לא נמצא|נמחק|غير موجود|не существ|не найден|удал[её]н"
    r"|не існує"
    r"|不存在|找不到|[没沒]有找到|删除|刪除|見つかりま|存在しま|削除|찾을 수 없|존재하지|삭제",
    re.IGNORECASE,
)
"""Words that say that there is no such thread."""
SENTENCE = re.compile(r"[^.!?。！？]+[.!?。！？]*")
# A word alone or with a noun: `Next`, `next page`, `older posts`. Arrows may be beside.
_NEXT = (
    r"next|older|more|show more|load more|view more|weiter|nächste|ältere|mehr(?: laden| anzeigen)?|suivante?s?"
    r"|plus anciens|voir plus|charger plus|siguiente|más|más antiguos|ver más|cargar más"
    r"|successiv|avanti|próxima|seguinte|volgende|meer(?: laden)?|oudere|następna|dalej|starsze|(?:załaduj )?więcej"
    r"|další|následující|starší|více|načíst další|ďalš[ií]a?|sljedeća|sledeća|naprej|sonraki|ileri|devamı"
    r"|daha fazla(?: yükle)?|nästa|äldre|(?:visa|ladda) fler|neste|næste|ældre|seuraava|következő|următoarea"
    r"|επόμεν[ηο]|περισσότερα|παλαιότερα|φόρτωση|наступна|далі|більше|следваща|следећа"
    r"|далее|следующая|вперёд|(?:показать |загрузить )?ещё|berikutnya|selanjutnya|tiếp(?: theo)?|xem thêm|הבא|التالي"
)
# No `topic` or `thread` in the singular: the next topic is another one.
_OF = (
    r"page|posts?|topics|threads|discussions|comments?|replies|entries|seite|beiträge|themen|page|página|страница|pagina"
    r"|berichten|strona|stránka|strana|stranica|sayfa|sida|side|sivu|oldal|pagină|σελίδα|сторінка|halaman|trang|עמוד|صفحة"
)
_EAST = (
    "下一页|下一頁|下页|下頁|后一页|後一頁|更多|加载更多|查看更多|次へ|次のページ|次の\\d*件|もっと見る|さらに読み込む"
    "|다음|다음 페이지|더 ?보기|더 불러오기"
)
NEXT = re.compile(rf"\W*(?:(?:p[aá]gina? |page )?(?:{_NEXT})(?: (?:{_OF}))?|{_EAST})\W*", re.IGNORECASE)
ARROWS = re.compile(r"[›»>→▶►❯⟩⇨]+")
