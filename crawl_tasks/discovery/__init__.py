"""Discovery: from the address of an unknown forum to a site file, in three dozen requests at most.

discover.py tells the story: http_probe.py fetches pages, fingerprints.py names the program, timezone.py finds the time
zone, dry_run.py reads pages by the rules found, findings.py writes the file. For a program without preset, proposal.py
and thread_rules.py derive rules from links, repeated records, posts and pagers on the pages (links.py,
repeated_records.py, thread_page.py, next_page.py).
"""
