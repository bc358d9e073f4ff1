"""Programs for the maintainers of the repository, which no wheel has."""
