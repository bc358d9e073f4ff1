"""Scheduling: scans of due boards, start requests of other programs, and the ticker."""
