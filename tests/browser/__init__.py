"""The page in a real browser. A package, so that one browser can serve all of its files."""
