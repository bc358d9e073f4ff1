"""Step 1 and the clockwork: what is due, and when."""
