"""Typed values from text on a page: dates, counts, plain text."""
