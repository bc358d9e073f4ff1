"""Watching: logs, snapshots, progress. Nothing of the flow depends on what is seen here, but everything may log."""
