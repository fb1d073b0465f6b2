// Cost of large results: calls per second and peak memory, by size of the result.

import { strictEqual } from 'node:assert';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { startGateway } from '../gateway.mjs';
import { load } from '../load.mjs';
import { openSession } from '../messages.mjs';
import { postForText } from '../post.mjs';
import { startProcess, until } from '../processes.mjs';
import { textOf } from '../upstreams/sized-echo.mjs';

const upstream = join(import.meta.dirname, '../upstreams/sized-echo.mjs');
const bareRelayRow = 'bare relay';
const rpcRow = 'gateway /rpc';
const sessionRow = 'gateway /mcp/:id';
const sizes = { '1 KB': 1_000, '100 KB': 100_000, '5 MB': 5_000_000 };
const peakColumn = 'peak of one 5 MB call';

export const name = 'results';
export const title = 'Large results';
export const about = `Calls per second at 1 and at 4 connections, of a tool whose result is 1 KB, 100 KB or 5 MB of text, with a
quotation mark and a line break in each line. The server returns a prepared text over stdio.

- The peak is the maximum memory (VmHWM) during one call minus the memory before it, in MB. It is measured in
  a new process after 50 small calls and a forced collection.
- With escapes, the result of 5 MB has 5.3 MB. It arrives in about 80 pieces; each is checked on arrival and
  forwarded unchanged.
- Before the load, four different calls run concurrently in each row, and their results are compared with the
  text.`;
export const tables = [...Object.keys(sizes), 'peak'];
export const goals = [
  ...[rpcRow, sessionRow].flatMap((row) =>
    [1, 4].map((connections) => ({
      row,
      column: columnOf('5 MB', connections),
      against: bareRelayRow,
      factor: 0.7,
      sense: 'at least',
    })),
  ),
];

export async function* run(bench) {
  const starts = { [rpcRow]: startAtRpc, [sessionRow]: startAtSession, [bareRelayRow]: startRelay };
  const rows = [];
  for (const [row, start] of Object.entries(starts)) rows.push([row, await start(bench)]);
  for (const [, target] of rows) {
    for (const size of Object.values(sizes)) await check(target, size);
    // Warms up the target for a second.
    if (!bench.isSmoke) await measureRate(target, sizes['100 KB'], 4, 1);
  }
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const [label, size] of Object.entries(sizes)) {
      for (const connections of [1, 4]) {
        for (const [row, target] of rows) {
          const value = bench.isSmoke ? 0 : await measureRate(target, size, connections, bench.seconds);
          yield { round, row, column: columnOf(label, connections), value, unit: 'calls/s' };
        }
      }
    }
    for (const [row, start] of Object.entries(starts)) {
      const newTarget = await start(bench);
      yield { round, row, column: peakColumn, value: await peakOfCall(newTarget), unit: 'MB' };
      await newTarget.stop();
    }
  }
  for (const [, target] of rows) await target.stop();
}

async function startSizedGateway(bench) {
  const servers = { sized: { command: process.execPath, args: [upstream] } };
  return startGateway(bench, { servers, hasProbe: true });
}

async function startAtRpc(bench) {
  const gateway = await startSizedGateway(bench);
  return { ...gateway, url: `${gateway.url}/rpc`, headers: { 'X-MCP-Server': 'sized' } };
}

async function startAtSession(bench) {
  const gateway = await startSizedGateway(bench);
  const url = `${gateway.url}/mcp/sized`;
  return { ...gateway, url, headers: await openSession(url) };
}

/** Starts the bare relay with the same probe as the gateway. */
async function startRelay(bench) {
  const port = await freePort();
  const probe = pathToFileURL(join(import.meta.dirname, '../process-probe.mjs')).href;
  const relay = join(import.meta.dirname, '../bare-relay.mjs');
  const args = ['--expose-gc', '--import', probe, relay, port, process.execPath, upstream].map(String);
  const started = startProcess(bench.makeFolder(), process.execPath, args, { hasChannel: true });
  await until(started, 'the bare relay did not start', () => started.log().includes('listening'));
  const memory = async () => {
    const response = once(started.child, 'message', { signal: AbortSignal.timeout(30_000) });
    started.child.send('memory');
    const [{ memory }] = await response;
    return memory;
  };
  return { ...started, url: `http://127.0.0.1:${port}/`, headers: {}, memory };
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

function columnOf(label, connections) {
  return `${label} at ${connections}`;
}

function bodiesOf(size, count) {
  return Array.from({ length: count }, (_, at) => bodyOf(at + 1, size));
}

function bodyOf(id, size) {
  const params = { name: 'text', arguments: { size, tag: `call ${id} ` } };
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params });
}

/** Makes concurrent calls with different ids, and checks that all responses are correct and complete. */
async function check({ url, headers }, size) {
  const expected = textOf(size);
  // Numbers and texts; one text is not ASCII.
  const ids = [101, 'b', 103, 'ü'];
  const texts = await Promise.all(ids.map((id) => postForText(url, headers, bodyOf(id, size))));
  for (const [at, text] of texts.entries()) {
    const { id, result } = JSON.parse(text);
    strictEqual(id, ids[at]);
    strictEqual(result.content[0].text === `call ${id} ${expected}`, true, 'the text arrived changed');
  }
}

/** Returns the calls per second. */
async function measureRate({ url, headers }, size, connections, seconds) {
  const options = { connections, seconds, headers, bodies: bodiesOf(size, 16) };
  const { callsPerSecond, errors } = await load(url, options);
  if (errors > 0) throw new Error(`${errors} requests to ${url} failed`);
  return callsPerSecond;
}

/**
 * Returns a large call's peak memory in megabytes, minus the memory before the call. Requires a new
 * process, because a process may reuse the memory of earlier calls.
 */
async function peakOfCall({ url, headers, memory, pid }) {
  for (let call = 0; call < 50; call += 1) await postForText(url, headers, bodyOf(call, sizes['1 KB']));
  await memory();
  // Resets the peak to the current value (proc(5), clear_refs).
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = highestKB(pid);
  await postForText(url, headers, bodyOf(1, sizes['5 MB']));
  return ((highestKB(pid) - before) * 1024) / 1e6;
}

/** Returns a process's peak resident memory, in KB. */
function highestKB(pid) {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
