"""`humanmcp judge`: what a client does with each thing that a server can do wrong."""
