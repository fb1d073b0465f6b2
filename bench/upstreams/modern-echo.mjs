// Version of raw-echo.mjs for the modern era of MCP only (version 2026-07-28, without sessions): no
// `initialize`, and results with `resultType`.

const _meta = { 'io.modelcontextprotocol/serverInfo': { name: 'modern-echo', version: '1' } };
const results = {
  'server/discover': { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ttlMs: 0 },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }], ttlMs: 0 },
};
let partial = '';

process.stdin.setEncoding('utf8').on('data', (chunk) => {
  const lines = (partial + chunk).split('\n');
  partial = lines.pop() ?? '';
  let answers = '';
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (id !== undefined)
      answers += `${JSON.stringify({ jsonrpc: '2.0', id, ...outcomeOf(method, params) })}\n`;
  }
  process.stdout.write(answers);
});

function outcomeOf(method, params) {
  if (method === 'tools/call') {
    const text = JSON.stringify(params.arguments);
    return { result: { resultType: 'complete', content: [{ type: 'text', text }], _meta } };
  }
  const result = results[method];
  if (result === undefined) return { error: { code: -32601, message: `no ${method} here` } };
  return { result: { resultType: 'complete', cacheScope: 'private', ...result, _meta } };
}
