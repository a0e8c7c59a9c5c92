"""An MCP server made with the official SDK (`pip install mcp`): one tool works, one only looks so.

Start it through a client, for example: humanmcp client -- python samples/servers/demo_app.py
"""

from mcp.server import MCPServer

server = MCPServer("demo-app", version="1.5.0", log_level="WARNING")


@server.tool(structured_output=False)
def calc_add(a: str, b: str) -> str:
    """Add two numbers"""  # noqa: D415 - the description that the tool had in its log
    return str(int(a) + int(b))


@server.tool(structured_output=False)
def exec_shell_command(command: str) -> str:
    """Execute a command in the bash shell"""  # noqa: D415 - as above
    # It is listed, so that you can see whether a host asks before it calls such a tool.
    return f"demo-app executes nothing; it was asked to run: {command}"


if __name__ == "__main__":
    server.run()
