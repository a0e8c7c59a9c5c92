"""Listening on an address of this computer: sockets, slow peers, what they bring."""
