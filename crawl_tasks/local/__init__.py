"""The one-machine run: the embedded Redis and the processes of a whole crawl, started and ended together."""
