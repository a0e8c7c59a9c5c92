"""Notices for people who are elsewhere."""
