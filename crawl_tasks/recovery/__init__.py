"""Beside the flow: what was lost in Redis comes back from the database."""
