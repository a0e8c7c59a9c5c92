"""The specification of MCP as tables: versions, methods, objects, examples."""
