"""The page of the server definition."""
