"""The decisions and examinations of an operator: one function each, for the command line and the status page."""
