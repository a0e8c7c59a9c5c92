// A server made with @modelcontextprotocol/server. It serves both eras, and asks before it greets.
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

const form = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

serveStdio(({ era }) => {
  const server = new McpServer({ name: 'greeter', version: '2.0.0' });
  const known = { '東京': 'sunny' };
  server.registerTool(
    'get-japan-forecast',
    { description: 'Get weather forecast', inputSchema: z.object({ location: z.string() }) },
    async ({ location }) => ({ content: [{ type: 'text', text: known[location] ?? 'unknown' }] })
  );
  server.registerTool(
    'greet',
    { description: 'Ask for a name and greet', inputSchema: z.object({}) },
    async (_args, context) => {
      const question = { mode: 'form', message: 'Who are you?', requestedSchema: form };
      let name;
      if (era === 'modern') {
        name = acceptedContent(context.mcpReq.inputResponses, 'who')?.name;
        if (name === undefined) {
          return inputRequired({ inputRequests: { who: inputRequired.elicit(question) } });
        }
      } else {
        name = (await server.server.elicitInput(question)).content?.name;
      }
      return { content: [{ type: 'text', text: `hello ${name}` }] };
    }
  );
  return server;
});
