"""Streamable HTTP without a socket: what a request says in its headers, and what goes back."""
