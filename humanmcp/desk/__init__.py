"""The web page; it only reads and writes the inbox."""
