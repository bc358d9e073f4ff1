"""The registry of sites: published to Redis, and compiled once per version in each worker."""
