"""The commands of the other roles: `client`, `host` and `play`."""
