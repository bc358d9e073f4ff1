"""Rules proposed from HTML pages: list_rules.py for boards, thread_rules.py for threads and their replies."""
