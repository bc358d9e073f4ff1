"""Pages whose markup costs a careless parser seconds or gigabytes."""

from __future__ import annotations

HEAVY: dict[str, bytes] = {
    "nested": b"<div class=comment data-comment=1>" * 3000,
    "deep": b"<div>" * 300_000 + b"<div class=comment data-comment=1>",
    "balanced": b"<b>" * 200_000 + b"</b>" * 200_000,
    "matryoshka": b"".join(
        b"<div class=comment data-comment=%d><div class=body>%s" % (n, b"x" * 10_000) for n in range(490)
    ),
    "wide": b"<p>" * 300_000,
    "unclosed": b"<div class=comment data-comment=1><p class=author>" * 2000,
    "rows": b"<table class=threads>" + b"<tr class=thread data-post=1>" * 4000,
    "long id": b"<div class=comment data-comment=" + b"9" * 100_000 + b">",
    "combining": b"<article class=post><h1 class=title>" + "e\u0301".encode() * 50_000 + b"</h1><div class=body>x",
    "angles": b"<article class=post><h1 class=title>x</h1><div class=body>" + b"<" * 100_000,
    "blanks": b"<article class=post><h1 class=title>x</h1><div class=body><pre>" + b"\n " * 50_000,
    "layouts": b"<article class=post><h1 class=title>x</h1><div class=body>x<xmp>" + b"<pre></pre >" * 20_000,
    "pictures": b"<article class=post><h1 class=title>x</h1><div class=body>x<xmp>" + b"<img " * 20_000 + b'"',
    "ends": b"<article class=post><h1 class=title>x</h1><div class=body>x<plaintext>" + b"</a " * 20_000 + b'"',
    "pages": b"<nav class=pager data-pages=999999999999><div class=comment data-comment=1>",
    "attributes": b"<p " + b" ".join(b"a%d" % n for n in range(60_000)) + b">",
    "quoted": b"<p " + b" ".join(b'a%d=">"' % n for n in range(60_000)) + b">",
    "roots": b"".join(b"<body a%d=1>" % n for n in range(60_000)),
    "reopened": b"<p>" + b"".join(b"<b id=%d>" % n for n in range(900)) + b"<p>x" * 2_000,
    "commented": b"<!--" + b"</b>" * 900 + b"--><p>" + b"".join(b"<b id=%d>" % n for n in range(900)) + b"<p>x" * 2_000,
    "many rows": b"<table class=threads>"
    + b"<tr class=thread data-post=1><td><a class=title href=/post/1>x</a>" * 20_000,
    "metas": b"<meta " * 40_000 + b"\xff\xe9",
    "no charset": b"<meta charset=" + b" " * 200_000 + b">\xff\xe9",
    "comments": b"<!--" * 60_000 + b"\xff\xe9",
    "scripts": b"<script " * 32_000 + b"\xff\xe9",
    "open scripts": b"<script>" * 32_000 + b"\xff\xe9",
    "angles before bytes": b"<" * 200_000 + b"\xff\xe9",
    "html": b"<html " * 40_000 + b"\xff\xe9",
}
