"""The commands of the other seats: `client`, `host` and `play`."""
