"""`make chaos`: faults on purpose, counted, and what they cost. The product knows nothing of this package."""
