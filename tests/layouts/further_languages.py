"""Further languages of made-up forums, for seeds from FURTHER_FROM on."""

from __future__ import annotations

from tests.layouts.languages import Language, split

_NAMES = split("ann|Bob Stone|dee_42|Élise|old.sailor|M. Reed|kite|quiet-one")
FURTHER_LANGUAGES = (
    Language(
        "nl",
        split("welke|olie|voor|oude|motoren|en|een|luide|ketting|hoe|remmen|repareren|in|winter|vraag|over|"
              "mijn|tuin|kleine|boot|met|houten|mast|thee|zonder|suiker"),
        split("Eerst proberen we het eenvoudige.|Ik had vorig voorjaar hetzelfde probleem.|"
              "Het werkt weer, meestal.|Kijk achter het linker deksel.|Bedankt allemaal!|"
              "Geen idee, ik zou het in de winkel vragen."),
        _NAMES,
        split("Motoren|Huis en tuin|Boten|Kletshoek|Gevonden|Nieuws"),
        ("%-d %B %Y, %H:%M", "%d-%m-%Y %H:%M", "%-d %B %Y %H:%M"),
        split("januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december"),
        1, ("reactie", "reacties"), "weergaven", "door", "Laatste bericht", "Laatst bewerkt",
        "Er zijn nog geen onderwerpen.", "schreef:", split("Volgende|Volgende pagina|Volgende »"),
        split("Meer laden|Oudere berichten|Meer"), "Inloggen", "Reageren", "Melden", "Vastgezet",
        "Lid sinds", "Berichten", "Onderwerp", "Auteur", "{} geleden",
        (("jaar", "jaar"), ("maand", "maanden"), ("dag", "dagen"), ("uur", "uur"), ("minuut", "minuten")),
        near=("Vandaag om", "Gisteren om"), weekdays="ma di wo do vr za zo",
    ),
    Language(
        "pl",
        split("jaki|olej|do|starych|silników|i|głośny|łańcuch|jak|naprawić|hamulce|zimą|pytanie|o|mój|ogród|"
              "mała|łódka|z|masztem|herbata|bez|cukru"),
        split("Najpierw spróbujmy prostej rzeczy.|Miałem to samo wiosną.|Działa, przeważnie.|"
              "Zajrzyj za lewą pokrywę.|Dziękuję wszystkim!|Nie mam pojęcia, zapytałbym w sklepie."),
        _NAMES,
        split("Silniki|Dom i ogród|Łodzie|Pogaduszki|Znalezione|Nowości"),
        ("%-d %B %Y, %H:%M", "%d.%m.%Y %H:%M", "%Y-%m-%d %H:%M"),
        split("stycznia|lutego|marca|kwietnia|maja|czerwca|lipca|sierpnia|września|października|listopada|"
              "grudnia"),
        1, ("odpowiedź", "odpowiedzi"), "wyświetleń", "przez", "Ostatni post", "Ostatnio zmieniony",
        "Brak tematów.", "napisał:", split("Następna|Następna strona|Dalej »"),
        split("Załaduj więcej|Starsze|Więcej"), "Zaloguj", "Odpowiedz", "Zgłoś", "Przyklejony",
        "Dołączył", "Posty", "Temat", "Autor", "{} temu",
        (("rok", "lata"), ("miesiąc", "miesięcy"), ("dzień", "dni"), ("godzinę", "godzin"), ("minutę", "minut")),
        near=("Dzisiaj o", "Wczoraj o"), weekdays="pn wt śr cz pt sob nd",
    ),
    Language(
        "tr",
        split("hangi|yağ|eski|motorlar|için|ve|gürültülü|zincir|fren|nasıl|tamir|kışın|soru|bahçem|hakkında|"
              "küçük|tekne|ahşap|direk|çay|şekersiz|lamba|neden"),
        split("Önce basit olanı deneyelim.|Geçen bahar aynı sorun vardı.|Genelde çalışıyor.|"
              "Sol kapağın arkasına bak.|Herkese teşekkürler!|Bilmiyorum, köşedeki dükkana sorardım."),
        _NAMES,
        split("Motorlar|Ev ve bahçe|Tekneler|Sohbet|Kayıp eşya|Haberler"),
        ("%-d %B %Y, %H:%M", "%d.%m.%Y %H:%M", "%-d %B %Y %H:%M"),
        split("Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|Temmuz|Ağustos|Eylül|Ekim|Kasım|Aralık"),
        3, ("yanıt", "yanıt"), "görüntüleme", "Gönderen", "Son mesaj", "Son düzenleme",
        "Henüz konu yok.", "yazdı:", split("Sonraki|Sonraki sayfa|İleri »"),
        split("Daha fazla|Daha fazla yükle|Devamı"), "Giriş", "Yanıtla", "Bildir", "Sabit",
        "Katılım", "Mesajlar", "Konu", "Yazar", "{} önce",
        (("yıl", "yıl"), ("ay", "ay"), ("gün", "gün"), ("saat", "saat"), ("dakika", "dakika")),
        near=("Bugün", "Dün"), weekdays="Pzt Sal Çar Per Cum Cmt Paz",
    ),
    Language(
        "sv",
        split("vilken|olja|för|gamla|motorer|och|en|bullrig|kedja|hur|laga|bromsar|vintern|fråga|om|min|"
              "trädgård|liten|båt|med|trämast|te|utan|socker"),
        split("Först provar vi det enkla.|Jag hade samma problem i våras.|Det fungerar igen, oftast.|"
              "Titta bakom vänstra luckan.|Tack alla!|Ingen aning, fråga i butiken."),
        _NAMES,
        split("Motorer|Hus och trädgård|Båtar|Småprat|Upphittat|Nyheter"),
        ("%-d %B %Y, %H:%M", "%Y-%m-%d %H:%M", "%-d %B %Y kl. %H:%M"),
        split("januari|februari|mars|april|maj|juni|juli|augusti|september|oktober|november|december"),
        1, ("svar", "svar"), "visningar", "av", "Senaste inlägg", "Senast redigerad",
        "Det finns inga ämnen.", "skrev:", split("Nästa|Nästa sida|Nästa »"),
        split("Visa fler|Äldre|Ladda fler"), "Logga in", "Svara", "Anmäl", "Fäst",
        "Medlem sedan", "Inlägg", "Ämne", "Författare", "för {} sedan",
        (("år", "år"), ("månad", "månader"), ("dag", "dagar"), ("timme", "timmar"), ("minut", "minuter")),
        near=("Idag", "Igår"), weekdays="mån tis ons tor fre lör sön",
    ),
    Language(
        "ko",
        split("오래된|엔진|오일|시끄러운|체인|겨울|브레이크|수리|질문|정원|펌프|작은|배|나무|돛대|설탕|없이|차|램프|깜박임|주말|자전거"),
        split("먼저 간단한 것부터 해봅시다.|작년 봄에 같은 문제가 있었어요.|대체로 잘 됩니다.|"
              "왼쪽 덮개 뒤를 보세요.|모두 감사합니다!|모르겠어요, 가게에 물어보세요."),
        _NAMES,
        split("엔진|집과 정원|배|잡담|분실물|공지"),
        ("%Y-%m-%d %H:%M", "%Y.%m.%d %H:%M", "%Y년 %m월 %d일 %H:%M"),
        (),
        9, ("답글", "답글"), "조회", "작성자", "마지막 글", "마지막 수정",
        "게시물이 없습니다", "님의 글:", split("다음|다음 페이지|다음 »"),
        split("더 보기|더 불러오기|더보기"), "로그인", "답글 쓰기", "신고", "고정",
        "가입일", "글", "제목", "글쓴이", "{} 전",
        (("년", "년"), ("개월", "개월"), ("일", "일"), ("시간", "시간"), ("분", "분")),
        near=("오늘", "어제"), weekdays="월 화 수 목 금 토 일",
    ),
    Language(
        "el",
        split("ποιο|λάδι|για|παλιές|μηχανές|και|θορυβώδης|αλυσίδα|πώς|φρένα|επισκευή|χειμώνα|ερώτηση|κήπος|"
              "μικρή|βάρκα|ξύλινο|κατάρτι|τσάι|χωρίς|ζάχαρη|λάμπα"),
        split("Πρώτα δοκιμάζουμε το απλό.|Είχα το ίδιο πρόβλημα την άνοιξη.|Δουλεύει συνήθως.|"
              "Κοίτα πίσω από το καπάκι.|Ευχαριστώ όλους!|Δεν ξέρω, ρώτα στο μαγαζί."),
        _NAMES,
        split("Μηχανές|Σπίτι και κήπος|Βάρκες|Κουβέντα|Χαμένα|Νέα"),
        ("%-d %B %Y, %H:%M", "%d.%m.%Y %H:%M", "%-d %B %Y %H:%M"),
        split("Ιανουαρίου|Φεβρουαρίου|Μαρτίου|Απριλίου|Μαΐου|Ιουνίου|Ιουλίου|Αυγούστου|Σεπτεμβρίου|Οκτωβρίου|"
              "Νοεμβρίου|Δεκεμβρίου"),
        2, ("απάντηση", "απαντήσεις"), "προβολές", "από", "Τελευταία δημοσίευση", "Τελευταία επεξεργασία",
        "Δεν υπάρχουν θέματα.", "έγραψε:", split("Επόμενη|Επόμενη σελίδα|Επόμενο »"),
        split("Περισσότερα|Παλαιότερα|Φόρτωση"), "Σύνδεση", "Απάντηση", "Αναφορά", "Καρφιτσωμένο",
        "Εγγραφή", "Δημοσιεύσεις", "Θέμα", "Συγγραφέας", "πριν {}",
        (("χρόνο", "χρόνια"), ("μήνα", "μήνες"), ("ημέρα", "ημέρες"), ("ώρα", "ώρες"), ("λεπτό", "λεπτά")),
        near=("Σήμερα", "Χθες"), weekdays="Δευ Τρί Τετ Πέμ Παρ Σάβ Κυρ",
    ),
    Language(
        "es",
        split("qué|aceite|para|motores|viejos|y|una|cadena|ruidosa|cómo|reparar|frenos|en|invierno|pregunta|"
              "sobre|mi|jardín|barco|pequeño|con|mástil|té|sin|azúcar"),
        split("Primero probamos lo sencillo.|Tuve el mismo problema en primavera.|Funciona casi siempre.|"
              "Mira detrás de la tapa izquierda.|¡Gracias a todos!|Ni idea, yo preguntaría en la tienda."),
        _NAMES,
        split("Motores|Casa y jardín|Barcos|Charla|Perdidos|Noticias"),
        ("%-d de %B de %Y, %H:%M", "%d/%m/%Y %H:%M", "%-d %B %Y %H:%M"),
        split("enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre"),
        1, ("respuesta", "respuestas"), "vistas", "por", "Último mensaje", "Última edición",
        "No hay temas.", "escribió:", split("Siguiente|Página siguiente|Siguiente »"),
        split("Cargar más|Más antiguos|Ver más"), "Iniciar sesión", "Responder", "Reportar", "Fijado",
        "Registrado", "Mensajes", "Tema", "Autor", "hace {}",
        (("año", "años"), ("mes", "meses"), ("día", "días"), ("hora", "horas"), ("minuto", "minutos")),
        near=("Hoy a las", "Ayer a las"), weekdays="lun mar mié jue vie sáb dom",
    ),
    Language(
        "cs",
        split("jaký|olej|pro|staré|motory|a|hlučný|řetěz|jak|opravit|brzdy|v|zimě|dotaz|o|zahradě|malá|loď|s|"
              "dřevěným|stěžněm|čaj|bez|cukru"),
        split("Nejdřív zkusíme to jednoduché.|Na jaře jsem měl stejný problém.|Většinou funguje.|"
              "Podívej se za levý kryt.|Děkuji všem!|Netuším, zeptal bych se v obchodě."),
        _NAMES,
        split("Motory|Dům a zahrada|Lodě|Pokec|Nálezy|Novinky"),
        ("%-d. %B %Y, %H:%M", "%-d. %m. %Y %H:%M", "%d.%m.%Y %H:%M"),
        split("ledna|února|března|dubna|května|června|července|srpna|září|října|listopadu|prosince"),
        1, ("odpověď", "odpovědí"), "zobrazení", "od", "Poslední příspěvek", "Naposledy upravil",
        "Žádná témata.", "napsal:", split("Další|Další stránka|Další »"),
        split("Načíst další|Starší|Více"), "Přihlásit", "Odpovědět", "Nahlásit", "Připnuto",
        "Registrován", "Příspěvky", "Téma", "Autor", "před {}",
        (("rokem", "lety"), ("měsícem", "měsíci"), ("dnem", "dny"), ("hodinou", "hodinami"), ("minutou", "minutami")),
        near=("Dnes v", "Včera v"), weekdays="po út st čt pá so ne",
    ),
)  # fmt: skip
