"""The fetcher: one attempt at one page, polite, bounded and suspicious."""
