"""Proof of a site file: dry_run.py reads real pages by it, checks.py holds them against each other."""
