"""The frontier, the ledger of every request: admit, queue, lease, commit."""
