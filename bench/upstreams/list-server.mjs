// Many MCP servers in a single process, at different paths, with ten tools each. The gateway caches their
// lists. A thousand processes would take minutes to start, and the lists would be the same. The servers use
// Streamable HTTP, with JSON responses only.

import { once } from 'node:events';
import { createServer } from 'node:http';

export const toolsEach = 10;

const fields = ['path', 'query', 'limit', 'encoding', 'recursive'];

/** Returns tool `at` of server `server`, about 400 bytes including the schema. */
export function toolOf(server, at) {
  const names = fields.slice(0, 2 + (at % 3));
  const properties = Object.fromEntries(
    names.map((name) => [name, { type: 'string', description: `The ${name} of the record page` }]),
  );
  return {
    name: `read_record_${at}`,
    description: `Reads record ${at} of collection ${server} and gives it as text, a page at a time.`,
    inputSchema: { type: 'object', properties, required: names.slice(0, 1), additionalProperties: false },
  };
}

/** Starts the servers on 127.0.0.1; server n is at `urlOf(n)`. */
export async function startListServers() {
  const http = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405).end();
      return;
    }
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const { id, method, params } = JSON.parse(body);
    if (id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const answer = { jsonrpc: '2.0', id, result: resultOf(Number(request.url.slice(1)), method, params) };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address();
  return {
    urlOf: (server) => `http://127.0.0.1:${port}/${server}`,
    async stop() {
      http.closeAllConnections();
      http.close();
      await once(http, 'close');
    },
  };
}

function resultOf(server, method, params) {
  if (method === 'initialize') {
    const { protocolVersion } = params;
    return {
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: `list-${server}`, version: '1' },
    };
  }
  if (method !== 'tools/list') return {};
  return { tools: Array.from({ length: toolsEach }, (_, at) => toolOf(server, at)) };
}
