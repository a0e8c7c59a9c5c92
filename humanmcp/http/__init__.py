"""HTTP, both ways: calling a server at an address, and listening on an address of this computer."""
