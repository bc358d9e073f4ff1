"""Step 5, fetch: one attempt at one page, polite, bounded and suspicious."""
