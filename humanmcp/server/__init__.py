"""The server process: standard library only, starts in tens of milliseconds."""
