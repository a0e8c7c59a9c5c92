// A server made with @modelcontextprotocol/sdk 1.x: the handshake, and a question inside a call.
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'greeter', version: '1.0.0' });
const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
const known = { '東京': 'sunny' };
server.registerTool(
  'get-japan-forecast',
  { description: 'Get weather forecast', inputSchema: { location: z.string() } },
  async ({ location }) => ({ content: [{ type: 'text', text: known[location] ?? 'unknown' }] })
);
server.registerTool('greet', { description: 'Ask for a name and greet' }, async () => {
  const answer = await server.server.elicitInput({ message: 'Who are you?', requestedSchema: form });
  return { content: [{ type: 'text', text: `hello ${answer.content?.name}` }] };
});
await server.connect(new StdioServerTransport());
