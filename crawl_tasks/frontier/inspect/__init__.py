"""Reads of the frontier for monitoring. None of them changes the ledger."""
