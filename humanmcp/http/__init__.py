"""HTTP, both ways: calling a server at an address, and the endpoint of one on this computer."""
