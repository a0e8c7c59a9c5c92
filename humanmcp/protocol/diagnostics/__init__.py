"""What is wrong with a text, where it stands, and how to fix it."""
