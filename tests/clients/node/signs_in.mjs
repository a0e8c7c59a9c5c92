// A TypeScript SDK as a client that signs in: node signs_in.mjs 1|2 ADDRESS [TOOL [SERVER]]
// Its "browser" follows no redirect: it reads what the client would get there.
// With a TOOL it calls that one when a token of a second has expired, and fails if nothing came:
// for `humanmcp judge`. SERVER is the server's own address where ADDRESS is that of a tap before it.
const [major, address, tool, server] = process.argv.slice(2);
const load = async () => {
  if (major === "2") return import("@modelcontextprotocol/client");
  const client = await import("@modelcontextprotocol/sdk/client/index.js");
  const http = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return { ...client, ...http };
};
const loaded = await load();
const { Client, StreamableHTTPClientTransport } = loaded;

const kept = {};
let cameBack;
const provider = {
  redirectUrl: "http://127.0.0.1:3999/cb",
  clientMetadataUrl: "https://client.example/client.json",
  clientMetadata: {
    client_name: "SDK",
    redirect_uris: ["http://127.0.0.1:3999/cb"],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  },
  state: () => (kept.state ??= crypto.randomUUID()),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void (kept.client = client),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void (kept.tokens = tokens),
  saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
  codeVerifier: () => kept.verifier,
  invalidateCredentials(what) {
    if (what === "all" || what === "client") delete kept.client;
    if (what === "all" || what === "tokens") delete kept.tokens;
  },
  async redirectToAuthorization(page) {
    const response = await fetch(page, { redirect: "manual" });
    cameBack = new URL(response.headers.get("location")).searchParams;
  },
};
if (server) provider.validateResourceURL = async (_address, resource) => new URL(resource ?? server);
const { UnauthorizedError } = major === "2" ? loaded : await import("@modelcontextprotocol/sdk/client/auth.js");
// Does something; if a sign-in is needed, brings back what came to the browser, and does it again.
const signedIn = async (transport, act, again) => {
  try {
    return await act();
  } catch (error) {
    const back = cameBack;
    cameBack = undefined;
    if (!(error instanceof UnauthorizedError) || !back) throw error;
    // the SDK 2 judges all of this; with the SDK 1, the program must
    if (major === "1" && back.get("error")) throw new Error(back.get("error"));
    if (back.get("state") !== kept.state) throw new Error("another state");
    await transport.finishAuth(major === "2" ? back : back.get("code"));
    return again();
  }
};
const connected = async (times = 0) => {
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider });
  const client = new Client({ name: "sdk", version: "1.0.0" });
  const connect = async () => {
    await client.connect(transport);
    return { client, transport };
  };
  return signedIn(transport, connect, () => (times > 2 ? connect() : connected(times + 1)));
};
const called = async ({ client, transport }, times = 0) => {
  const call = () => client.callTool({ name: tool, arguments: {} });
  return signedIn(transport, call, () => (times > 2 ? call() : called({ client, transport }, times + 1)));
};
try {
  const both = await connected();
  const { tools } = await both.client.listTools();
  if (tool) {
    await new Promise((done) => setTimeout(done, 1200));
    const { content } = await called(both);
    console.log(JSON.stringify({ tools: content.map((one) => one.text) }));
  } else console.log(JSON.stringify({ tools: tools.map((one) => one.name) }));
  await both.client.close();
  process.exit(0);
} catch (error) {
  console.log(JSON.stringify({ error: String(error.message) }));
  process.exit(tool ? 1 : 0);
}
