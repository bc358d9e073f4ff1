"""Discovery: from the address of an unknown forum to a site file, in three dozen requests at most.

discover.py tells the story: http_probe.py fetches pages, fingerprints.py names the program, timezone.py finds the time
zone, dry_run.py reads pages by the rules found, findings.py writes the file. For a program without preset, proposal.py
judges hypotheses of rules by pages of several boards and threads: list_rules.py and thread_rules.py derive the rules
from links (links.py), repeated records (repeated_records.py, thread_page.py), their slots (slots.py) and pagers
(next_page.py).
"""
