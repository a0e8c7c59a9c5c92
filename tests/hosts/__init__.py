"""Real hosts against humanmcp: `make hosts`. Not a part of `make test`: the packages are large."""
