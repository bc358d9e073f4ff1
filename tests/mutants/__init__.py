"""Mutations of every room of the crawler, drawn, and the tests that must notice them."""
