"""Field rules: compiled once per site version, then applied to the nodes of each page."""
