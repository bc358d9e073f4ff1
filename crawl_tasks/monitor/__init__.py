"""Watching: one snapshot, shown as a screen or as JSON. Nothing of the flow imports it."""
