"""Answers without a person, and how long a client waits."""
