// Checks that the gateway retains no memory of finished calls.

import { check } from '../check.mjs';
import { startGateway } from '../gateway.mjs';
import { load } from '../load.mjs';
import { legacyCall, openSession } from '../messages.mjs';
import { rawEcho } from '../targets.mjs';

const early = '100,000 calls';
const late = '1,000,000 calls';
const growth = 'heap growth from 100,000 to 1,000,000 calls';
const rows = ['gateway /rpc', 'gateway /mcp/:id'];

export const name = 'memory';
export const title = 'Memory over a million calls';
export const about = `Heap in use after a forced collection, and resident memory at that moment, at 64 connections to a raw stdio
echo. Measured when the gateway is healthy, after at least 100,000 calls, and after at least 1,000,000. All
calls at \`/mcp/:id\` use one session. Each row is a separate gateway process. This measure has one round,
not the number below the table, because its result is a difference within a process.`;
export const goals = rows.map((row) => ({ row, column: growth, limit: 2, unit: 'MB', sense: 'at most' }));

const distinctCalls = 1000;
/** Calls of the legacy era of MCP (with sessions), which both rows accept; `/mcp/:id` also has a session. */
const bodies = Array.from({ length: distinctCalls }, (_, n) => legacyCall(n));

export async function* run(bench) {
  for (const row of rows) {
    const gateway = await startGateway(bench, { servers: { echo: rawEcho }, hasProbe: true });
    const sample = (column, bytes) => ({ round: 1, row, column, value: bytes / 1e6, unit: 'MB' });
    const samplesOf = (when, { heapUsed, rss }) => [
      sample(`heap after ${when}`, heapUsed),
      sample(`RSS after ${when}`, rss),
    ];
    try {
      yield* samplesOf('start', await gateway.memory());
      const target = await targetAt(gateway, row);
      const callUntil = bench.isSmoke ? checkedCalls(target) : callsUnderLoad(bench, target);
      await callUntil(bench.isSmoke ? 200 : 100_000);
      const before = await gateway.memory();
      yield* samplesOf(early, before);
      await callUntil(bench.isSmoke ? 1000 : 1_000_000);
      const after = await gateway.memory();
      yield* samplesOf(late, after);
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

/** Returns a function that runs wrk until `total` calls were made. */
function callsUnderLoad(bench, { row, url, headers }) {
  let callCount = 0;
  /** Expected calls per second: first an estimate, then the last measured rate. */
  let rate = 20_000;
  return async (total) => {
    while (callCount < total) {
      bench.progress(`${row}: ${callCount.toLocaleString('en-US')} calls`);
      const seconds = Math.min(10, Math.ceil((total - callCount) / rate));
      const { calls, errors } = await load(url, { connections: 64, seconds, headers, bodies });
      if (errors > 0) throw new Error(`${row}: ${errors} of ${calls} calls failed under load`);
      if (calls === 0) throw new Error(`${row}: no call succeeded`);
      callCount += calls;
      rate = calls / seconds;
    }
  };
}

/** Returns the function for a smoke run: it makes few calls, and checks the responses. */
function checkedCalls(target) {
  let callCount = 0;
  return async (total) => {
    callCount += await check(
      { ...target, bodyOf: legacyCall },
      { calls: total - callCount, concurrency: 64 },
    );
  };
}
