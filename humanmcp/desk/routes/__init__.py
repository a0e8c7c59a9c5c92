"""The pages and the calls of the interface, by subject."""
