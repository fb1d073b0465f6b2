// Tool calls of both protocol eras (legacy with sessions, modern without). Each call has another id and other
// arguments; the server echoes the arguments, so check.mjs compares results with them. Some ids are numbers,
// some are texts.

const sessionVersion = '2025-11-25';
const modernVersion = '2026-07-28';
const bothTypes = 'application/json, text/event-stream';

const words = 'north river paper signal ünder window 日本 "quoted" back\\slash'.split(' ');

/** Returns the arguments of the nth call. */
export function argumentsOf(n) {
  const word = (step) => words[(n * step) % words.length];
  const query = `${word(1)} ${word(3)} ${word(5)}`;
  return { query, limit: n % 97, nested: { number: n, tags: [word(7), word(2)] } };
}

/** Returns the id of the nth call: a number, or a text for every third call. */
export function idOf(n) {
  return n % 3 === 2 ? `call-${n}` : n;
}

export function legacyCall(n, tool = 'echo') {
  return JSON.stringify({
    jsonrpc: '2.0',
    id: idOf(n),
    method: 'tools/call',
    params: { name: tool, arguments: argumentsOf(n) },
  });
}

export function modernCall(n, tool = 'echo') {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': modernVersion,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  return JSON.stringify({
    jsonrpc: '2.0',
    id: idOf(n),
    method: 'tools/call',
    params: { name: tool, arguments: argumentsOf(n), _meta },
  });
}

export function modernHeaders(tool = 'echo') {
  return {
    Accept: bothTypes,
    'MCP-Protocol-Version': modernVersion,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': tool,
  };
}

/** Opens a legacy session and returns the headers for its requests. */
export async function openSession(url) {
  const common = { 'Content-Type': 'application/json', Accept: bothTypes };
  const post = (headers, message) =>
    fetch(url, {
      method: 'POST',
      headers: { ...common, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(20_000),
    });
  const clientInfo = { name: 'bench', version: '1' };
  const params = { protocolVersion: sessionVersion, capabilities: {}, clientInfo };
  const answer = await post({}, { id: 0, method: 'initialize', params });
  const text = await answer.text();
  const session = answer.headers.get('mcp-session-id');
  if (!answer.ok || session === null)
    throw new Error(`${url} did not open a session: ${answer.status} ${text}`);
  const headers = { ...common, 'Mcp-Session-Id': session, 'MCP-Protocol-Version': sessionVersion };
  await (await post(headers, { method: 'notifications/initialized' })).text();
  return headers;
}
