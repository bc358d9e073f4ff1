"""Saved pages of real forums in public repositories, read by presets and held against a reading by BeautifulSoup."""
