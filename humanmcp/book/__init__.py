"""`humanmcp book`: look at an answer book, or write one that is a server that exists."""
