"""A server made with the official Python SDK: prompts, resources, templates, completion, tools."""

import os
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
)

server = MCPServer("library", version="1.0.0", log_level="ERROR")
CITIES = {"Japan": ["Tokyo", "Toyama", "Osaka"], "": ["Tokyo", "Toronto"]}


@server.tool(structured_output=False)
def add(first: int, second: int) -> str:
    """Add two numbers."""
    return str(first + second)


@server.tool(structured_output=False)
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool(structured_output=False)
def fail() -> str:
    """Fail."""
    raise ValueError("no paper")


@server.tool(structured_output=False)
def leave() -> str:
    """End the process."""
    os._exit(7)


@server.tool(structured_output=False)
async def sleep() -> str:
    """Answer never."""
    import anyio  # noqa: PLC0415 - here only

    await anyio.sleep_forever()
    return ""


@server.tool(structured_output=False)
async def ask(question: str, ctx: Context) -> str:
    """Ask the client's model."""
    asked = SamplingMessage(role="user", content=TextContent(type="text", text=question))
    answer = await ctx.session.create_message(  # type: ignore[deprecated,unused-ignore] # of the handshake
        messages=[asked], max_tokens=7, system_prompt="Be short."
    )
    return str(getattr(answer.content, "text", answer.content))


@server.tool(structured_output=False)
def draw() -> list[str | Image]:
    """Draw a picture."""
    return ["Here it is.", Image(data=b"PNG", format="png")]


@server.prompt()
def greeting(city: str, style: str = "short") -> str:
    """Greet a city."""
    return f"Write a {style} greeting to {city}."


@server.resource("note://today", mime_type="text/plain")
def today() -> str:
    """What is to be done."""
    return "water the plants"


@server.resource("weather://{city}/now", mime_type="text/plain")
def weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@server.completion()  # type: ignore[no-untyped-call,untyped-decorator] # the SDK leaves its type out
async def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion | None:
    """Complete a city."""
    country = (context.arguments or {}).get("country", "") if context is not None else ""
    found = [one for one in CITIES[country] if one.startswith(argument.value)]
    return Completion(values=found)


if __name__ == "__main__":
    sys.stderr.write("library is open\n")
    server.run()
