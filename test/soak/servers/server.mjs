// Tool server of the soak. The argument is the behaviour: `steady` and `changing` echo, `crashing` sometimes
// exits, `hanging` does not answer, `flooding` writes log messages and blank lines during calls, `endless`
// has infinite pages of tools, `deep` answers with arrays above the nesting limit.

import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [behaviour] = process.argv.slice(2);
const FLOOD_MS = 2_000;
const FLOOD_BYTES = 48 * 1024 * 1024;
let calls = 0;

const send = (message) =>
  process.stdout.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
const answer = (id, result) => send({ jsonrpc: '2.0', id, result });
const tool = (name) => ({ name, description: 'x'.repeat(200), inputSchema: { type: 'object' } });
const echo = (id, value) => answer(id, { content: [{ type: 'text', text: JSON.stringify(value) }] });

function list(id, cursor) {
  const page = Number(cursor ?? 0);
  if (behaviour !== 'endless') return answer(id, { tools: [tool('echo')] });
  const tools = Array.from({ length: 2_000 }, (_, at) => tool(`tool-${page}-${at}`));
  return answer(id, { tools, nextCursor: String(page + 1) });
}

async function flood() {
  const until = performance.now() + FLOOD_MS;
  const data = 'x'.repeat(500);
  const line = `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data } })}\n`;
  const piece = line.repeat(50) + '\n'.repeat(5_000);
  for (let sent = 0; sent < FLOOD_BYTES && performance.now() < until; sent += piece.length)
    if (!process.stdout.write(piece)) await new Promise((done) => process.stdout.once('drain', done));
}

async function call(id, { arguments: given }) {
  calls += 1;
  if (behaviour === 'hanging') return;
  if (behaviour === 'crashing' && calls % 3 === 0) {
    // Starts a helper in a separate session, like browsers do. The gateway must stop it too.
    spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
    process.exit(3);
  }
  if (behaviour === 'deep')
    return send(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${'['.repeat(2_000)}${']'.repeat(2_000)}}`,
    );
  if (behaviour === 'flooding') await flood();
  echo(id, given);
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    if (method === 'initialize')
      answer(id, {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {}, logging: {} },
        serverInfo: { name: behaviour, version: '1.0.0' },
      });
    else if (method === 'tools/list') list(id, params.cursor);
    else if (method === 'tools/call') void call(id, params);
    else if (id !== undefined) answer(id, {});
  })
  .on('close', () => process.exit());
