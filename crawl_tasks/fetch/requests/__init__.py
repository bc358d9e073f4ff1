"""The HTTP client on `requests`."""
