"""JSON Schemas: whether one is valid, the cost of a comparison, and the comparison."""
