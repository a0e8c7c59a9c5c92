"""The classroom: lessons, rooms, and the page without a server."""
