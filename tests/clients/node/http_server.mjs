// A server of the official TypeScript SDK over Streamable HTTP, with a session for each client.
// It prints its address when it listens.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const sessions = new Map();

async function begin() {
  const server = new McpServer({ name: 'typescript', version: '1.0.0' });
  const city = { description: 'Tell the weather', inputSchema: { city: z.string() } };
  server.registerTool('weather', city, ({ city: name }) => ({
    content: [{ type: 'text', text: `sunny in ${name}` }],
  }));
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
    onsessionclosed: (id) => sessions.delete(id),
  });
  await server.connect(transport);
  return transport;
}

const listening = createServer(async (request, response) => {
  const name = request.headers['mcp-session-id'];
  if (request.url === '/forget') {
    sessions.clear();
    response.end();
  } else if (name !== undefined && !sessions.has(name)) {
    response.writeHead(404).end();
  } else {
    await (sessions.get(name) ?? (await begin())).handleRequest(request, response);
  }
});
listening.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${listening.address().port}/mcp`);
});
