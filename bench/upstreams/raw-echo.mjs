// Minimal MCP server without an SDK, so that measures show the cost of the path and not of the server.

const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
const info = { capabilities: { tools: {} }, serverInfo: { name: 'raw-echo', version: '1' } };
let partial = '';

process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (partial + chunk).split('\n');
  partial = lines.pop() ?? '';
  let answers = '';
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined)
      answers += `${JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params) })}\n`;
  }
  process.stdout.write(answers);
});

function resultOf(method, params) {
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, ...info };
  if (method === 'tools/list') return { tools };
  if (method !== 'tools/call') return {};
  return { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] };
}
