// What a TypeScript client does with odd answers: node reactions.mjs 1|2 '{"NAME": "METHOD", …}' COMMAND ARGUMENTS…
// The command starts a server that answers METHOD oddly; NAME is its last argument. Prints `NAME REACTION` lines.
const [edition, cases, command, ...args] = process.argv.slice(2);
const [{ Client }, { StdioClientTransport }] =
  edition === "1"
    ? [await import("@modelcontextprotocol/sdk/client/index.js"), await import("@modelcontextprotocol/sdk/client/stdio.js")]
    : [await import("@modelcontextprotocol/client"), await import("@modelcontextprotocol/client/stdio")];
const timeout = 4000;

async function reaction(name, method) {
  const client = new Client({ name: "reactions", version: "1" });
  client.onerror = () => {};
  const steps = {
    initialize: () => client.connect(new StdioClientTransport({ command, args: [...args, name], stderr: "ignore" }), { timeout }),
    "notifications/initialized": async () => {},
    "tools/list": () => client.listTools({}, { timeout }),
    "tools/call": () => client.callTool({ name: "t", arguments: {} }, ...(edition === "1" ? [undefined, { timeout }] : [{ timeout }])),
    "resources/list": () => client.listResources({}, { timeout }),
    "resources/templates/list": () => client.listResourceTemplates({}, { timeout }),
    "resources/read": () => client.readResource({ uri: "file:///a" }, { timeout }),
    "prompts/list": () => client.listPrompts({}, { timeout }),
    "prompts/get": () => client.getPrompt({ name: "p" }, { timeout }),
    "completion/complete": () =>
      client.complete({ ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }, { timeout }),
    ping: () => client.ping({ timeout }),
  };
  const always = ["initialize", "notifications/initialized", "tools/list", "tools/call", "ping"];
  const observed = method.startsWith("notifications/") ? "tools/list" : method;
  let told = "taken";
  for (const [step, take] of Object.entries(steps)) {
    if (step !== observed && !always.includes(step)) continue;
    try {
      await take();
    } catch (error) {
      if (step === observed) told = /timed? ?out/i.test(error.message) ? "silent" : "failed";
      else if (step === "ping" && told === "taken") told = "ended";
      if (step === "initialize") break;
    }
  }
  await client.close().catch(() => {});
  return told;
}

const waiting = Object.entries(JSON.parse(cases));
async function work() {
  for (let next = waiting.shift(); next; next = waiting.shift()) console.log(next[0], await reaction(...next));
}
await Promise.all(Array.from({ length: 6 }, work));
process.exit(0);
