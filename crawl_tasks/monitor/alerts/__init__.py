"""Alerts: problems found in snapshots, sent to people when they begin, while they last and when they end."""
