// @modelcontextprotocol/sdk 1.x: node sdk1.mjs COMMAND ARGUMENTS…, or an address
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { weather } from "./weather.mjs";

const [command, ...args] = process.argv.slice(2);
await weather(
  new Client({ name: "sdk1", version: "1.0.0" }),
  command.startsWith("http:")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, stderr: "inherit" }),
);
