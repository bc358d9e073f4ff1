"""Rules proposed from JSON: an API that the program names, or documents that drawn pages asked for."""
