"""The page of the answer book and of saved answers."""
