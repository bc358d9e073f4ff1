"""The demo forum with faults: wrong answers, slow ones, endless ones, on the requests that a test names."""
