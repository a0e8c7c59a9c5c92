// A client of the TypeScript SDK over HTTP whose server is restarted: node restart.mjs SDK ADDRESS
// SDK is 1 or 2. It lists the tools, prints them, waits for a line, and lists them once more.
import { once } from 'node:events';

const [sdk, address] = process.argv.slice(2);
const names =
  sdk === '1'
    ? ['@modelcontextprotocol/sdk/client/index.js', '@modelcontextprotocol/sdk/client/streamableHttp.js']
    : ['@modelcontextprotocol/client', '@modelcontextprotocol/client'];
const [{ Client }, { StreamableHTTPClientTransport }] = await Promise.all(names.map((name) => import(name)));

const client = new Client({ name: 'restart', version: '1.0.0' });
client.onerror = () => {};
await client.connect(new StreamableHTTPClientTransport(new URL(address)));

async function list() {
  try {
    const { tools } = await client.listTools({}, { timeout: 15000 });
    console.log(tools.map((tool) => tool.name).join());
  } catch (error) {
    console.log(`failed: ${error.message}`);
  }
}

await list();
await once(process.stdin, 'data');
await list();
process.exit(0);
