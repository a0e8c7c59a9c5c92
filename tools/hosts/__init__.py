"""Real hosts against humanmcp: `make hosts`, see README.md. Always run: the model's own test."""
