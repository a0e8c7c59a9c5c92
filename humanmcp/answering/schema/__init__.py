"""The JSON for scripts: what the page, the interface and `--json` write, each shape once."""
