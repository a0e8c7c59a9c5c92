"""Streamable HTTP without a socket: the headers of requests and the form of responses."""
