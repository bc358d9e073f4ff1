"""One bad page costs itself: `python -m tests.isolation` measures the cost of a few bad pages for all others."""
