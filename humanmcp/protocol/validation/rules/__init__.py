"""What MCP asks of messages that no shape can say."""
