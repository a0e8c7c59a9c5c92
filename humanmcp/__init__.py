"""humanmcp: you are the MCP server."""

__version__ = "0.1.0"
