"""The registry of problems: every kind of trouble with its severity, text and remedy, written once."""
