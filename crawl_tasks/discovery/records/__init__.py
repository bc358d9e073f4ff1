"""Repeated records of a page, and the fields within them, whichever program made it.

repeated_records.py finds the rows, slots.py aligns what they have in common (wrapper induction), record_fields.py
names authors, dates and counts, next_page.py finds the pager.
"""
