// The same server with the official TypeScript SDK; its packages are those of tests/clients/node.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const packages = createRequire(new URL('../tests/clients/node/package.json', import.meta.url));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
const { z } = await load('zod');

const server = new McpServer({ name: 'bench', version: '1.0.0' });
const forecast = { description: 'Tell the weather', inputSchema: { location: z.string() } };
server.registerTool('forecast', forecast, ({ location }) => ({
  content: [{ type: 'text', text: `sunny in ${location}` }],
}));
await server.connect(new StdioServerTransport());
