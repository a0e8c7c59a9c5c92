"""How messages and sessions look on the page."""
