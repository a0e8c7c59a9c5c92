"""JSON Schemas: whether one is valid, what a comparison costs, and whether a value conforms."""
