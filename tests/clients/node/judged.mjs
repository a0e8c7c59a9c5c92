// A client for `humanmcp judge`: node judged.mjs 1|2 stdio|http COMMAND ARGUMENTS… | URL
// It lists the tools, calls one, prints the text of the result, and ends. A request may take 4 seconds.
const [edition, transport, ...server] = process.argv.slice(2);
const of = edition === "1" ? "@modelcontextprotocol/sdk/client" : "@modelcontextprotocol/client";
const { Client } = await import(edition === "1" ? `${of}/index.js` : of);
const { StdioClientTransport } = await import(edition === "1" ? `${of}/stdio.js` : `${of}/stdio`);
const { StreamableHTTPClientTransport } = await import(edition === "1" ? `${of}/streamableHttp.js` : of);

const timeout = 4000;
const [command, ...args] = server;
const way =
  transport === "http" ? new StreamableHTTPClientTransport(new URL(command)) : new StdioClientTransport({ command, args });
const client = new Client({ name: "judged", version: "1" });
let status = 0;
try {
  await client.connect(way, { timeout });
  await client.listTools({}, { timeout });
  const result = edition === "1" ? await client.callTool({ name: "t", arguments: {} }, undefined, { timeout })
    : await client.callTool({ name: "t", arguments: {} }, { timeout });
  const head = result.isError ? "the tool failed: " : "";
  for (const one of result.content) console.log(head + (one.text ?? one.type));
} catch (error) {
  console.error(String(error));
  status = 1;
}
await client.close().catch(() => {});
process.exitCode = status;
