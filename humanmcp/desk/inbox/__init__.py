"""The page of what waits, and of one exchange."""
