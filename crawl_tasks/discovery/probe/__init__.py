"""What is asked of a forum before anything is known of it: pages, program, front page, time zone, JSON addresses.

http_probe.py fetches each page once, fingerprints.py names the program, front_page.py finds the ways into the forum,
timezone.py reads the zone from words and clocks.
"""
