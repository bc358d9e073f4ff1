"""Administration of the frontier: failed requests, board schedules, alert state, restoring, auditing."""
