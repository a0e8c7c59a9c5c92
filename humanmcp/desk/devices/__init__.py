"""Logging in and out, and the devices that may answer."""
