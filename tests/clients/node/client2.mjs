// @modelcontextprotocol/client 2.x: node client2.mjs MODE COMMAND ARGUMENTS…, or an address
// MODE is legacy (its default), auto, or the version to pin.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { weather } from "./weather.mjs";

const [mode, command, ...args] = process.argv.slice(2);
const named = mode === "legacy" || mode === "auto" ? mode : { pin: mode };
await weather(
  new Client({ name: "client2", version: "1.0.0" }, { versionNegotiation: { mode: named } }),
  command.startsWith("http:")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, stderr: "inherit" }),
);
