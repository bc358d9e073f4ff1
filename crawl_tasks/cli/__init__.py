"""The command line: one module a command. `main.py` finds the commands, and turns errors into exit codes."""
