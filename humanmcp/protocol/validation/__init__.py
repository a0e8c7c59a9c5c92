"""The check of a message, and its rules."""
