// Remote version of raw-echo.mjs: Streamable HTTP without sessions, with plain JSON responses. Prints the
// port.
//
// node bench/upstreams/http-echo.mjs

import { App, us_socket_local_port } from 'uWebSockets.js';

const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
const info = { capabilities: { tools: {} }, serverInfo: { name: 'http-echo', version: '1' } };

App()
  .post('/mcp', (res) => {
    const chunks = [];
    let isGone = false;
    res.onAborted(() => {
      isGone = true;
    });
    res.onData((chunk, isLast) => {
      // The server reuses a chunk's memory after the callback.
      chunks.push(Buffer.from(chunk.slice(0)));
      if (isLast && !isGone) answer(res, JSON.parse(Buffer.concat(chunks).toString('utf8')));
    });
  })
  .any('/*', (res) => {
    res.writeStatus('405 Method Not Allowed').end();
  })
  .listen('127.0.0.1', 0, (socket) => console.log(`listening at ${us_socket_local_port(socket)}`));

function answer(res, { id, method, params }) {
  if (id === undefined) {
    res.writeStatus('202 Accepted').end();
    return;
  }
  const text = JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params) });
  res.writeHeader('Content-Type', 'application/json').end(text);
}

function resultOf(method, params) {
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, ...info };
  if (method === 'tools/list') return { tools };
  if (method !== 'tools/call') return {};
  return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
}
