"""Before step 1: a look at a forum nobody knows yet, from its address to a site file; three dozen requests at most.

look.py tells the story: visit.py asks for pages, signs.py names the program, zone.py finds its time zone, trial.py
reads pages by the rules that were found, findings.py writes the file. For a program without preset, proposal.py and
thread_rules.py make rules of what links.py, records.py, thread.py and pager.py see on its pages.
"""
