"""The page without a server: Python runs in the browser of the person who opens it."""
