"""The exporter and the status page: one process that only watches. Killed, it changes nothing for the crawl."""
