"""Bot walls: challenge pages in the place of a page, and the marks of each product. Pure.

The search runs only on pages without content, so that a thread about captchas stays a thread.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LOOKED_AT = 64 << 10
"""Bytes of a page that are searched: wall pages are small."""

SMALL = 24 << 10
"""Captcha widgets count only on pages of at most so many bytes: ordinary pages have one in their login form."""

_WALLS = (
    ("Cloudflare", rb"cdn-cgi/challenge-platform/h/[a-z]/orchestrate|_cf_chl_opt|<title>Just a moment\.\.\.</title>"),
    ("Cloudflare", rb"Attention Required! \| Cloudflare"),
    ("DDoS-Guard", rb"<title>DDoS-Guard</title>|/\.well-known/ddos-guard/"),
    ("Imperva", rb"Request unsuccessful\. Incapsula"),
    ("DataDome", rb"geo\.captcha-delivery\.com"),
    ("PerimeterX", rb"px-captcha"),
    ("AWS WAF", rb"AwsWafIntegration|token\.awswaf\.com"),
    ("Sucuri", rb"sucuri_cloudproxy_js|Sucuri WebSite Firewall"),
    ("Anubis", rb"/\.within\.website/x/cmd/anubis"),
    ("go-away", rb"/\.well-known/\.git\.gammaspectra\.live/"),
    ("Imunify360", rb"(?i:imunify360)|<title>One moment, please\.\.\.</title>"),
    ("testcookie", rb"document\.cookie=\"__test="),
    ("Aliyun WAF", rb"acw_sc__v[23]"),
)
_WIDGETS = (
    ("hCaptcha", rb"hcaptcha\.com/1/api\.js|\bh-captcha\b"),
    ("reCAPTCHA", rb"google\.com/recaptcha/|recaptcha\.net/recaptcha/|\bg-recaptcha\b"),
    ("Turnstile", rb"challenges\.cloudflare\.com/turnstile"),
    ("GeeTest", rb"initGeetest|static\.geetest\.com"),
    ("Tencent", rb"TCaptcha\.js"),
)
_WORDS = (
    "安全验证", "安全驗證", "人机验证", "人機驗證", "滑动验证", "请完成验证", "访问过于频繁", "訪問過於頻繁",
    "Verify you are human", "Checking your browser before accessing", "unusual traffic from your computer",
    "Are you a robot?", "ロボットではありません",
)  # fmt: skip
_HEADERS = (("cf-mitigated", "Cloudflare"), ("x-amzn-waf-action", "AWS WAF"))

_COMPILED_WALLS = tuple((name, re.compile(pattern)) for name, pattern in _WALLS)
_COMPILED_WIDGETS = tuple((name, re.compile(pattern)) for name, pattern in _WIDGETS)
# Both encodings are searched: nobody has decoded the page, and Chinese forums use either.
_WRITTEN = tuple((word, word.encode(charset)) for word in _WORDS for charset in ("utf-8", "gb18030"))


def bot_wall_in(headers: Mapping[str, str], body: bytes) -> str | None:
    """Return the name of the bot wall on a page, None for a page without a known wall.

    Args:
        headers: of the answer, names in lower case.
        body: with the content encoding undone.
    """
    for header, name in _HEADERS:
        if header in headers:
            return name
    begin = body[:LOOKED_AT]
    for name, pattern in _COMPILED_WALLS:
        if pattern.search(begin):
            return name
    if len(body) > SMALL:
        return None
    for name, pattern in _COMPILED_WIDGETS:
        if pattern.search(begin):
            return name
    return next((word for word, written in _WRITTEN if written in begin), None)
