// MCP server whose results have a requested size: `size` bytes of text after the `tag` of the call. Texts are
// created once per size, so that large results cost little more than writing them.

import { pathToFileURL } from 'node:url';

const info = { capabilities: { tools: {} }, serverInfo: { name: 'sized-echo', version: '1' } };
const tools = [{ name: 'text', inputSchema: { type: 'object' } }];

/** Typical text: lines, quotation marks, non-ASCII letters. */
const line = 'The gateway reads what a "server" says, and sends it on as it came, byte for byte; voilà.\n';

/** Returns about `size` bytes of text. */
export function textOf(size) {
  return line.repeat(Math.ceil(size / Buffer.byteLength(line)));
}

const rawTexts = new Map();

/** Returns the text as the last part of a JSON string: escaped, without the first quotation mark. */
function rawTextOf(size) {
  let raw = rawTexts.get(size);
  if (raw === undefined) {
    raw = Buffer.from(JSON.stringify(textOf(size)).slice(1));
    rawTexts.set(size, raw);
  }
  return raw;
}

function serve() {
  let partial = '';
  process.stdin.setEncoding('utf8').on('data', (chunk) => {
    const lines = (partial + chunk).split('\n');
    partial = lines.pop() ?? '';
    process.stdout.cork();
    for (const text of lines) answer(JSON.parse(text));
    process.stdout.uncork();
  });
}

function answer({ id, method, params }) {
  if (id === undefined) return;
  if (method !== 'tools/call') {
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: resultOf(method, params) })}\n`);
    return;
  }
  const { size, tag } = params.arguments;
  const head = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: tag }] } });
  // The text is inserted behind the tag, into the same JSON string. It ends with a quotation mark, so the
  // first character of `tail` is omitted.
  const tail = '"}]}}';
  process.stdout.write(head.slice(0, -tail.length));
  process.stdout.write(rawTextOf(size));
  process.stdout.write(`${tail.slice(1)}\n`);
}

function resultOf(method, params) {
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, ...info };
  return method === 'tools/list' ? { tools } : {};
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) serve();
