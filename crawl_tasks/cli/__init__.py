"""The command line: one small module a command; `main.py` finds them and turns errors into lines and exit codes."""
