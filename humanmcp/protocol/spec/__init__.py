"""What the specification of MCP says, as tables: versions, methods, objects, examples."""
