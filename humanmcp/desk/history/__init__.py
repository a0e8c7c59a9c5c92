"""The page of what was sent and received."""
