"""Listening on an address of this computer, whoever comes: sockets, slow peers, what they bring."""
