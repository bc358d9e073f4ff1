"""Benchmarks of the crawler: pages per second, CPU, Redis commands and bytes, measured on real processes."""
