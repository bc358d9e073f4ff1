"""Hostile messages and sites, as whoever can write to Redis may leave there, against a real worker with canaries."""
