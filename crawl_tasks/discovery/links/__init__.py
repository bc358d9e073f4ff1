"""Addresses of a forum as evidence: shapes, templates, the links to boards and threads, the ids within them."""
