"""A site file with nothing wrong in it."""

from __future__ import annotations

GOOD = """\
name: forum
base: https://forum.example
boards: [1, {id: b2, priority: 7}]
order: lifo
gate: {window: 2}
list:
  address: /list/{board}/{page}
  record: tr.row
  fields:
    post_id: {css: a.t, attr: href, regex: '/post/(\\d+)'}
    title: a.t
    reply_count: td.n
  revision: [reply_count]
  next: a.next
post:
  address: /post/{post}
  fields: {title: h1, body: .body}
  pages: .pages
comment:
  address: /comment/{post}/{page}
  first_page: 2
  record: div.c
  fields: {comment_id: {attr: data-id}}
"""
