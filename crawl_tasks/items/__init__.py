"""Between parse and commit: the steps that see each item before it goes to the store."""
