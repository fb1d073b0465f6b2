// Whether the gateway keeps something of the calls that are over.

import { check } from '../check.mjs';
import { startGateway } from '../gateway.mjs';
import { load } from '../load.mjs';
import { legacyCall, openSession } from '../messages.mjs';
import { rawEcho } from '../targets.mjs';

const early = '100,000 calls';
const late = '1,000,000 calls';
const growth = 'heap, from the one to the other';
const rows = ['gateway /rpc', 'gateway /mcp/:id'];

export const name = 'memory';
export const title = 'Memory over a million calls';
export const about = `Heap in use after a forced collection, and resident memory at that moment: once the gateway is healthy, after at least
100,000 calls and after at least 1,000,000, at 64 connections to a raw stdio echo. At \`/mcp/:id\` all calls are of one session.
Each row is a gateway process of its own. One round, since what counts is a difference within a process.`;
export const goals = rows.map((row) => ({ row, column: growth, limit: 2, unit: 'MB', sense: 'at most' }));

const distinctCalls = 1000;
const bodies = Array.from({ length: distinctCalls }, (_, n) => legacyCall(n));

export async function* run(bench) {
  for (const row of rows) {
    const gateway = await startGateway(bench, { servers: { echo: rawEcho }, hasProbe: true });
    const sample = (column, bytes) => ({ round: 1, row, column, value: bytes / 1e6, unit: 'MB' });
    const both = (when, { heapUsed, rss }) => [
      sample(`heap after ${when}`, heapUsed),
      sample(`RSS after ${when}`, rss),
    ];
    try {
      yield* both('start', await gateway.memory());
      const target = await targetAt(gateway, row);
      const callUntil = bench.isSmoke ? checkedCalls(target) : loadedCalls(bench, target);
      await callUntil(bench.isSmoke ? 200 : 100_000);
      const before = await gateway.memory();
      yield* both(early, before);
      await callUntil(bench.isSmoke ? 1000 : 1_000_000);
      const after = await gateway.memory();
      yield* both(late, after);
      yield sample(growth, after.heapUsed - before.heapUsed);
    } finally {
      await gateway.stop();
    }
  }
}

async function targetAt({ url }, row) {
  if (row === 'gateway /rpc') return { row, url: `${url}/rpc`, headers: { 'X-MCP-Server': 'echo' } };
  return { row, url: `${url}/mcp/echo`, headers: await openSession(`${url}/mcp/echo`) };
}

/** Runs of wrk until so many calls were made in all. */
function loadedCalls(bench, { row, url, headers }) {
  let made = 0;
  let rate = 20_000;
  return async (wanted) => {
    while (made < wanted) {
      bench.progress(`${row}: ${made.toLocaleString('en-US')} calls`);
      const seconds = Math.min(10, Math.ceil((wanted - made) / rate));
      const { calls, errors } = await load(url, { connections: 64, seconds, headers, bodies });
      if (errors > 0) throw new Error(`${row}: ${errors} of ${calls} calls failed under load`);
      if (calls === 0) throw new Error(`${row}: no call was answered`);
      made += calls;
      rate = calls / seconds;
    }
  };
}

/** The same with every answer checked, and few calls. */
function checkedCalls(target) {
  let made = 0;
  return async (wanted) => {
    made += await check({ ...target, bodyOf: legacyCall }, { calls: wanted - made, atOnce: 64 });
  };
}
