"""Calling a server at an address: messages out as HTTP requests, lines in from their responses."""
