"""The roles of client and host at a terminal."""
