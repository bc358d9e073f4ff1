"""What the crawler costs: pages per second, CPU, Redis commands, bytes; measured on the real thing."""
