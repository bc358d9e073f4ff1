"""Charsets told apart by the letters of languages: of East Asia by frequent characters, of the Baltic by the alphabet.

The bytes of Big5, EUC-KR or Shift_JIS are characters of GBK too, but rare ones.
"""

from __future__ import annotations

EAST_ASIAN = ("gb18030", "big5hkscs", "cp949", "cp932", "euc_jp")
BALTIC = ("cp1257", "iso8859-13", "iso8859-4", "iso8859-10")
_ALPHABETS = {"lv": "āčēģīķļņšūž", "lt": "ąčęėįšųūž", "et": "äõöüšž"}
_FEWEST_BALTIC, _FOREIGN, _NATIVE = 6, 0.6, 0.95
_HANZI = (
    "的一是不了在人有我他这個个們们来來到時时大地为為子中你说說生国國年着就那和要她出也得里後后自以会會家可下而过過天去能对對"
    "小多然于於心学學么麼之都好看起发發当當没沒成只如事把还還用第样樣道想作种種开開美总總从從无無情己面最女但现現前些所同日手又"
    "行意动動方期它頭头经經长長儿兒回位分爱愛老因很给給名法间間斯知世什两兩次使身者被高已亲親其进進此话話常与與活正感见見明问問"
    "力理尔爾点點文几幾定本公特做外孩相西果走将將月十实實向声聲车車全信重三机機工物气氣每并別别真打太新比才便夫再书書部水像"
    "眼等体體却卻加电電主界门門利海受听聽表德少克代员員请請该該论論坛壇帖贴貼登录錄户戶注册冊题題主内內安上网網数數据版"
    "回复覆复谢謝吗嗎吧啊呢哪怎址入修改选選择擇必须須需字值设設置密码碼件图圖标標系统統帮幫助找买買换換式性制度政民关關"
)
_KANJI = (
    "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電"
    "要素値入力選択設定変更追加削除必場合使用指定表示有効無他方法部同社員思言手会者自分回新地内度対現実事理性体明私家世代"
    "多何作問題意心強通信質直教買付取引持待始終開閉動画像送受記録様切"
)
_KANA = "".join(map(chr, (*range(0x3041, 0x3094), *range(0x30A1, 0x30F7), 0x30FC)))
_HANGUL = (
    "이다는에의을가고하한지로도기은를사자리서대어시나인일아들그라해있적게정수으제보전만장부과여와원주상안것성조동스구니공무면교"
    "선신산소생내거요우마진국당오까중모비트치위분용화유연세문경방개관계저습없입할된않야님감각물회식러드려였았었했되네글댓등록음"
    "좋요알때말더바행명발본불못많심르레터번간반실양영래결현체통단파프크"
)
_SIGNS_OF_KANA = frozenset(_KANA)
_FREQUENT = frozenset(_HANZI + _KANJI + _KANA + _HANGUL)
_FEWEST = 12
"""Letters below which a text tells nothing by itself."""
_COMMON = 0.28
"""The share of frequent characters from which a text is in the charset that is named.

The messages of Django and humanize in four languages, by parts of eight: 0.33 is the lowest share, 0.64 the usual one.
"""
_PLAINLY, _TIMES = 0.35, 2.5
"""The share of frequent characters, and how many times that of the claim, by which another charset refutes it.

No part of those messages, long or short, was refuted in its own charset."""
_LIKELY, _FEW = 0.2, 4


def reads_well(sample: bytes, charset: str) -> bool:
    """Return whether a text is in a charset by its many frequent characters."""
    share, letters = _common_share(sample, charset, is_mute=charset == "gb18030")
    return letters >= _FEWEST and share >= _COMMON


def is_likely(sample: bytes, charset: str) -> bool:
    """Return whether a text may be in a charset in which other pages of its site are."""
    share, letters = _common_share(sample, charset)
    return letters < _FEW or share >= _LIKELY


def plainly_better(sample: bytes, claim: str, usual: str) -> str | None:
    """Return the charset in which a text reads plainly better than in `claim`, None where the claim stands.

    A text of few letters follows `usual`, the charset of the site's other pages, where it reads better there.
    """
    # GBK has kana where Big5 has its most frequent characters, and EUC-JP the same kana.
    is_mute = claim == "gb18030"
    own, letters = _common_share(sample, claim, is_mute=is_mute)
    if own >= _COMMON:
        return None
    if letters < _FEWEST:
        return usual if usual and _common_share(sample, usual)[0] > max(_COMMON, _TIMES * own) else None
    shares = {
        charset: _common_share(sample, charset, is_mute=is_mute and charset != "cp932")
        for charset in EAST_ASIAN
        if charset != claim
    }
    best = max(shares, key=lambda charset: shares[charset][0])
    share, letters = shares[best]
    return best if letters >= _FEWEST and share >= max(_PLAINLY, _TIMES * own) else None


def baltic_rival(sample: bytes, claim: str, language: str) -> str | None:
    """Return the charset of the Baltic whose letters are those of the page's language, None where the claim's are."""
    names = [language] if language else [*_ALPHABETS]
    alphabets = [_ALPHABETS[name] for name in names if name in _ALPHABETS]
    shares = {charset: _best_share(sample, charset, alphabets) for charset in BALTIC}
    best = max(BALTIC, key=shares.__getitem__)
    return best if shares[claim] <= _FOREIGN and shares[best] >= _NATIVE else None


def _best_share(sample: bytes, charset: str, alphabets: list[str]) -> float:
    return max((_alphabet_share(sample, charset, signs) for signs in alphabets), default=0)


def _alphabet_share(sample: bytes, charset: str, alphabet: str) -> float:
    """Return the share of an alphabet in the letters beyond ASCII, 0 where these are few."""
    letters = [sign for sign in sample.decode(charset, "replace").lower() if sign > "\x7f" and sign.isalpha()]
    return sum(sign in alphabet for sign in letters) / len(letters) if len(letters) >= _FEWEST_BALTIC else 0.0


def _common_share(sample: bytes, charset: str, *, is_mute: bool = False) -> tuple[float, int]:
    """Return the share of frequent characters among the letters beyond ASCII, and the number of these letters.

    With `is_mute`, kana are not looked at.
    """
    text = sample.decode(charset, "replace")
    letters = [sign for sign in text if sign > "\x7f" and (sign.isalpha() or sign == "\ufffd")]
    if is_mute:
        letters = [sign for sign in letters if sign not in _SIGNS_OF_KANA]
    return sum(sign in _FREQUENT for sign in letters) / max(1, len(letters)), len(letters)
