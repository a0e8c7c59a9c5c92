"""The person at a terminal: list what waits, read it, answer it, check an answer."""
