"""The check of messages, and its rules."""
