"""Recovery: the deep check of a ledger, and its rebuild from the database."""
