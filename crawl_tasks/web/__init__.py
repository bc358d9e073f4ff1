"""The exporter: Prometheus metrics and the status page, in one process that only reads. Its death changes no crawl."""
