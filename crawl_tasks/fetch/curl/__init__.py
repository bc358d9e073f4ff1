"""The HTTP client on libcurl."""
