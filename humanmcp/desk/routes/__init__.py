"""The pages and the calls of the JSON interface, by subject."""
