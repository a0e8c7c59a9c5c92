"""The seats of client and host at a terminal."""
