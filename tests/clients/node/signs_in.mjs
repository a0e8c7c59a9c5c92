// A TypeScript SDK as a client that signs in: node signs_in.mjs 1|2 ADDRESS
// Its "browser" follows no redirect: it reads what the client would get there.
const [major, address] = process.argv.slice(2);
const load = async () => {
  if (major === "2") return import("@modelcontextprotocol/client");
  const client = await import("@modelcontextprotocol/sdk/client/index.js");
  const http = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return { ...client, ...http };
};
const { Client, StreamableHTTPClientTransport } = await load();

const kept = {};
let cameBack;
const provider = {
  redirectUrl: "http://127.0.0.1:3999/cb",
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
  async redirectToAuthorization(page) {
    const response = await fetch(page, { redirect: "manual" });
    cameBack = new URL(response.headers.get("location")).searchParams;
  },
};
const connected = async (isSecond = false) => {
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider });
  const client = new Client({ name: "sdk", version: "1.0.0" });
  try {
    await client.connect(transport);
    return client;
  } catch (error) {
    if (isSecond || !cameBack) throw error;
    if (cameBack.get("error")) throw new Error(cameBack.get("error"));
    if (cameBack.get("state") !== kept.state) throw new Error("another state");
    await transport.finishAuth(major === "2" ? cameBack : cameBack.get("code"));
    return connected(true);
  }
};
try {
  const client = await connected();
  const { tools } = await client.listTools();
  console.log(JSON.stringify({ tools: tools.map((one) => one.name) }));
  await client.close();
} catch (error) {
  console.log(JSON.stringify({ error: String(error.message) }));
}
process.exit(0);
