"""Monitoring: one snapshot of a crawl, shown as a terminal screen, a web page, metrics, alerts or JSON."""
