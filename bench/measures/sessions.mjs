// Memory of idle sessions.

import { strictEqual } from 'node:assert';
import { Agent, request } from 'node:http';
import { startGateway } from '../gateway.mjs';
import { legacyCall } from '../messages.mjs';
import { rawEcho } from '../targets.mjs';

const idle = 'idle';
const addresses = [
  { row: 'session at /mcp', path: '/mcp', tool: 'echo__echo' },
  { row: 'session at /mcp/:id', path: '/mcp/echo', tool: 'echo' },
];

export const name = 'sessions';
export const title = 'Memory per session';
export const about = `10,000 sessions without an open stream. A client opens each with \`initialize\` and \`notifications/initialized\`,
and sends its name, title, version and three capabilities. Sessions share connections.

The value is the heap in use after a forced collection, minus that before, per session: idle, after one call
of each session, and after each was ended with DELETE. 1,000 other sessions run first, so that code and caches
are not counted.`;
export const goals = addresses.map(({ row }) => ({
  row,
  column: idle,
  limit: 1024,
  unit: 'bytes',
  sense: 'at most',
}));

export async function* run(bench) {
  const count = bench.isSmoke ? 50 : 10_000;
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const { row, path, tool } of addresses) {
      const config = { limits: { sessions: count + 1 } };
      const gateway = await startGateway(bench, { servers: { echo: rawEcho }, config, hasProbe: true });
      const sample = (column, bytes) => ({ round, row, column, value: bytes / count, unit: 'bytes' });
      const clients = new Clients(`${gateway.url}${path}`, tool);
      try {
        await clients.connect(Math.ceil(count / 10));
        await clients.call();
        await clients.disconnect();
        const empty = (await gateway.memory()).heapUsed;
        await clients.connect(count);
        yield sample(idle, (await gateway.memory()).heapUsed - empty);
        await clients.call();
        yield sample('after one call', (await gateway.memory()).heapUsed - empty);
        strictEqual(await sessionsAt(gateway), count);
        await clients.disconnect();
        strictEqual(await sessionsAt(gateway), 0);
        yield sample('left after its end', (await gateway.memory()).heapUsed - empty);
      } finally {
        clients.close();
        await gateway.stop();
      }
    }
  }
}

async function sessionsAt({ url }) {
  return (await (await fetch(`${url}/stats`)).json()).sessions;
}

/** Clients with sessions at an address of the gateway. */
class Clients {
  #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  #url;
  #tool;
  #sessions = [];

  constructor(url, tool) {
    this.#url = url;
    this.#tool = tool;
  }

  async connect(count) {
    const clientInfo = { name: 'example-desktop-client', title: 'Example Desktop Client', version: '1.42.0' };
    const capabilities = { roots: { listChanged: true }, sampling: {}, elicitation: {} };
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo };
    const initialize = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
    const initialized = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' });
    this.#sessions = await mapConcurrently(Array.from({ length: count }), async () => {
      const response = await this.#send('POST', undefined, initialize, 200);
      const session = response.headers['mcp-session-id'];
      await this.#send('POST', session, initialized, 202);
      return session;
    });
  }

  async call() {
    await mapConcurrently(this.#sessions, async (session, n) => {
      const { text } = await this.#send('POST', session, legacyCall(n, this.#tool), 200);
      if (JSON.parse(text).result === undefined) throw new Error(`the call failed: ${text}`);
    });
  }

  async disconnect() {
    await mapConcurrently(this.#sessions, (session) => this.#send('DELETE', session, '', 204));
    this.#sessions = [];
  }

  close() {
    this.#agent.destroy();
  }

  /** Sends a request, and resolves with the response. Rejects if the status is not `status`. */
  #send(method, session, body, status) {
    const headers = {
      Accept: 'application/json, text/event-stream',
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(body),
      ...(session === undefined ? {} : { 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' }),
    };
    return new Promise((done, reject) => {
      const sent = request(this.#url, { method, agent: this.#agent, headers, timeout: 30_000 }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        answer.once('error', reject);
        answer.once('end', () => {
          if (answer.statusCode === status) done({ headers: answer.headers, text });
          else reject(new Error(`${method} ${this.#url} responded with ${answer.statusCode}: ${text}`));
        });
      });
      sent.once('timeout', () => sent.destroy(new Error(`${method} ${this.#url} had no response in 30 s`)));
      sent.once('error', reject);
      sent.end(body);
    });
  }
}

/** Returns the results of `work` for all items, 32 at a time. */
async function mapConcurrently(items, work) {
  const results = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const at = next;
      next += 1;
      results[at] = await work(items[at], at);
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  return results;
}
