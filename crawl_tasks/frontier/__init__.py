"""The ledger of every request: admit, queue, lease, commit. `Frontier` is its door."""
