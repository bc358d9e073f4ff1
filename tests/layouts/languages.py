"""The words of made-up forums, by language: prose, names, labels, and dates as people there write them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Language:
    """Words of one language. `dates` are strptime formats with %B for a month in words."""

    code: str
    words: tuple[str, ...]
    lines: tuple[str, ...]
    names: tuple[str, ...]
    boards: tuple[str, ...]
    dates: tuple[str, ...]
    months: tuple[str, ...]
    zone_hours: int
    replies: tuple[str, ...]
    views: str
    by: str
    last: str
    edited: str
    empty: str
    wrote: str
    following: tuple[str, ...]
    more: tuple[str, ...]
    login: str
    reply: str
    report: str
    pinned: str
    joined: str
    posts: str
    topic: str
    author: str
    ago: str = ""
    units: tuple[tuple[str, str], ...] = ()
    joint: str = " "
    near: tuple[str, str] = ("", "")
    """Words for today and yesterday, before a time."""
    weekdays: str = ""

    def date(self, moment: datetime, form: str) -> str:
        return moment.strftime(form.replace("%B", "@@").replace("%-d", str(moment.day))).replace(
            "@@", self.months[moment.month - 1] if self.months else ""
        )

    def relative(self, seconds: int) -> str:
        """Write `3 days ago`: whole units, cut."""
        for (one, many), size in zip(self.units, (31_536_000, 2_592_000, 86_400, 3_600, 60), strict=True):
            if seconds >= size:
                return self.ago.format(f"{seconds // size}{self.joint}{one if seconds // size == 1 else many}")
        return self.ago.format(f"1{self.joint}{self.units[-1][0]}")


def split(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


LANGUAGES = (
    Language(
        "en",
        split("which|oil|for|old|engines|and|a|noisy|chain|how|to|mend|brakes|in|winter|question|about|my|garden|pump|"
               "best|small|boat|with|wooden|mast|tea|without|sugar|why|does|the|lamp|flicker"),
        split("First we try the simple thing.|I had the same trouble last spring, and a new seal was all it took.|"
               "2 < 3 & 5 > 4, as ever.|It works - mostly.|Look behind the left cover; there are two screws.|"
               "No idea, to be honest, but I would ask in the shop at the corner.|Thank you all, it runs again!|"
               "That depends on how warm it gets where you live, and on how often you are there."),
        split("ann|Bob Stone|dee_42|Élise|old.sailor|M. Reed|kite|quiet-one"),
        split("Engines|Garden & House|Boats|Small talk|Lost and found|News from the club"),
        ("%-d %B %Y, %H:%M", "%B %-d, %Y %I:%M %p", "%Y-%m-%d %H:%M:%S", "%m/%d/%Y %H:%M"),
        split("January|February|March|April|May|June|July|August|September|October|November|December"),
        0, ("reply", "replies"), "views", "by", "Last post", "Last edited", "There are no topics here yet.", "wrote:",
        ("Next", "Next page", "Next »"), ("Load more", "Show more", "Older"), "Log in", "Reply", "Report", "Pinned",
        "Joined", "Posts", "Topic", "Author", "{} ago",
        (("year", "years"), ("month", "months"), ("day", "days"), ("hour", "hours"), ("minute", "minutes")),
        near=("Today at", "Yesterday at"), weekdays="Mon Tue Wed Thu Fri Sat Sun",
    ),
    Language(
        "de",
        split("welches|Öl|für|alte|Motoren|und|eine|laute|Kette|wie|man|Bremsen|im|Winter|pflegt|Frage|zu|meinem|Garten|"
               "kleines|Boot|mit|Holzmast|Tee|ohne|Zucker|warum|flackert|die|Lampe|über|Schrauben"),
        split("Zuerst versuchen wir das Einfache.|Das hatte ich im Frühjahr auch, eine neue Dichtung hat gereicht.|"
               "Geht wieder - meistens.|Schau hinter die linke Klappe, dort sind zwei Schrauben.|Danke an alle!|"
               "Keine Ahnung, ich würde im Laden an der Ecke fragen.|Kommt darauf an, wie warm es bei dir wird."),
        split("Jürgen|Anna B.|fräulein_k|segler77|Max Mustermann|Ute|der.alte|Zoe"),
        split("Motoren|Haus & Garten|Boote|Plauderecke|Fundsachen|Neues vom Verein"),
        ("%d.%m.%Y, %H:%M", "%-d. %B %Y, %H:%M Uhr", "%d.%m.%Y %H:%M Uhr", "%d.%m.%y %H:%M"),
        split("Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember"),
        1, ("Antwort", "Antworten"), "Aufrufe", "von", "Letzter Beitrag", "Zuletzt bearbeitet",
        "Hier gibt es noch keine Themen.", "schrieb:", ("Weiter", "Nächste Seite", "Nächste »"),
        ("Mehr laden", "Ältere Beiträge", "Mehr anzeigen"), "Anmelden", "Antworten", "Melden", "Angepinnt",
        "Dabei seit", "Beiträge", "Thema", "Autor", "vor {}",
        (("Jahr", "Jahren"), ("Monat", "Monaten"), ("Tag", "Tagen"), ("Stunde", "Stunden"), ("Minute", "Minuten")),
        near=("Heute um", "Gestern um"), weekdays="Mo Di Mi Do Fr Sa So",
    ),
    Language(
        "fr",
        split("quelle|huile|pour|vieux|moteurs|et|une|chaîne|bruyante|comment|réparer|les|freins|en|hiver|question|sur|"
               "mon|jardin|petit|bateau|avec|mât|bois|thé|sans|sucre|pourquoi|la|lampe|clignote"),
        split("Essayons d'abord le plus simple.|J'ai eu le même souci au printemps, un joint neuf a suffi.|"
               "Ça marche - presque toujours.|Regarde derrière le capot gauche, il y a deux vis.|Merci à tous !|"
               "Aucune idée, je demanderais au magasin du coin.|Cela dépend de la chaleur chez toi."),
        split("Élodie|Jean P.|zoé_k|marin29|Luc Petit|Théo|la.vieille|Rémi"),
        split("Moteurs|Maison et jardin|Bateaux|Bavardage|Objets trouvés|Nouvelles du club"),
        ("%d/%m/%Y à %H:%M", "%-d %B %Y à %H:%M", "%d/%m/%Y %Hh%M", "le %-d %B %Y, %Hh%M"),
        split("janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre"),
        1, ("réponse", "réponses"), "vues", "par", "Dernier message", "Modifié", "Aucun sujet pour le moment.",
        "a écrit :", ("Suivant", "Page suivante", "Suivante »"), ("Voir plus", "Plus anciens", "Charger plus"),
        "Connexion", "Répondre", "Signaler", "Épinglé", "Inscrit", "Messages", "Sujet", "Auteur", "il y a {}",
        (("an", "ans"), ("mois", "mois"), ("jour", "jours"), ("heure", "heures"), ("minute", "minutes")),
        near=("Aujourd'hui à", "Hier à"), weekdays="lun. mar. mer. jeu. ven. sam. dim.",
    ),
    Language(
        "zh",
        split("旧|发动机|用|什么|机油|链条|声音|很大|冬天|怎么|保养|刹车|请教|花园|水泵|小船|桅杆|喝茶|不加糖|台灯|闪烁|周末|去哪里|骑车"),
        split("先试试最简单的办法。|我去年春天也遇到过，换个密封圈就好了。|大部分时候没问题。|看看左边盖子后面，有两颗螺丝。|"
               "谢谢大家，已经修好了！|说实话不知道，去街角的店里问问吧。|要看你那里有多热，也看你多久去一次。"),
        split("王小明|李雷|老船长|花开富贵|dee42|安静的人|韩梅梅|风筝"),
        split("发动机|花园与家|船|灌水区|失物招领|公告"),
        ("%Y-%m-%d %H:%M", "%Y年%m月%d日 %H:%M", "%Y/%m/%d %H:%M:%S", "%Y-%m-%d %H:%M:%S"), (),
        8, ("回复", "回复"), "浏览", "作者", "最后回复", "最后编辑于", "暂无主题", "写道：",
        ("下一页", "下一页 »", "下页"),
        ("加载更多", "更多", "查看更多"), "登录", "回复", "举报", "置顶", "注册于", "帖子", "主题", "作者", "{}前",
        (("年", "年"), ("个月", "个月"), ("天", "天"), ("小时", "小时"), ("分钟", "分钟")), "",
        near=("今天", "昨天"), weekdays="周一 周二 周三 周四 周五 周六 周日",
    ),
    Language(
        "ja",
        split("古い|エンジン|の|オイル|について|チェーン|が|うるさい|冬|ブレーキ|手入れ|質問|庭|ポンプ|小さな|船|帆柱|お茶|砂糖なし|ランプ|ちらつく|週末|自転車"),
        split("まず簡単なことから試しましょう。|去年の春に同じことがあって、新しいパッキンで直りました。|だいたい動きます。|"
               "左のカバーの裏を見てください、ねじが二本あります。|ありがとうございました！|正直わかりません、角の店で聞いてみては。|"
               "住んでいる所がどれくらい暖かいかによります。"),
        split("名無しさん|太郎|はなこ|old_sailor|ゆき|けんじ|静かな人|凧"),
        split("エンジン|庭と家|船|雑談|落とし物|お知らせ"),
        ("%Y年%m月%d日 %H:%M", "%Y/%m/%d %H:%M", "%Y/%m/%d(水) %H:%M:%S", "%Y-%m-%d %H:%M"), (),
        9, ("返信", "返信"), "閲覧", "投稿者", "最終投稿", "最終編集", "スレッドはありません", "さんの投稿:",
        ("次へ", "次のページ", "次へ »"), ("もっと見る", "さらに読み込む", "もっと見る"),
        "ログイン", "返信する", "通報", "固定",
        "登録日", "投稿数", "スレッド", "投稿者", "{}前",
        (("年", "年"), ("か月", "か月"), ("日", "日"), ("時間", "時間"), ("分", "分")), "",
        near=("今日", "昨日"), weekdays="月曜 火曜 水曜 木曜 金曜 土曜 日曜",
    ),
    Language(
        "ru",
        split("какое|масло|для|старых|моторов|и|шумная|цепь|как|чинить|тормоза|зимой|вопрос|о|саде|насос|маленькая|лодка|"
               "с|мачтой|чай|без|сахара|почему|мигает|лампа|куда|ехать|на|выходных"),
        split("Сначала попробуем простое.|У меня весной было то же, хватило новой прокладки.|Работает, почти всегда."
               "|Посмотри за левой крышкой, там два винта.|Спасибо всем, заработало!"
               "|Не знаю, спросил бы в лавке на углу.|Зависит от того, как тепло у вас бывает летом."),
        split("Иван|Мария К.|старый_моряк|dee42|Тихий|Ольга|змей|Пётр"),
        split("Моторы|Дом и сад|Лодки|Болталка|Находки|Новости клуба"),
        ("%-d %B %Y, %H:%M", "%d.%m.%Y %H:%M", "%d.%m.%Y, %H:%M:%S", "%-d %B %Y в %H:%M"),
        split("января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"),
        3, ("ответ", "ответов"), "просмотров", "от", "Последнее сообщение", "Отредактировано", "Тем пока нет.",
        "писал(а):",
        ("Далее", "Следующая", "Вперёд »"), ("Показать ещё", "Загрузить ещё", "Ещё"), "Войти", "Ответить", "Жалоба",
        "Закреплено", "Регистрация", "Сообщений", "Тема", "Автор", "{} назад",
        (("год", "лет"), ("месяц", "месяцев"), ("день", "дней"), ("час", "часов"), ("минуту", "минут")),
        near=("Сегодня в", "Вчера в"), weekdays="Пн Вт Ср Чт Пт Сб Вс",
    ),
)  # fmt: skip
