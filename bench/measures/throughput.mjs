// Calls per second and latency of a stdio server that echoes arguments, for each HTTP path of the gateway and
// for other gateways.

import { interleave } from '../interleave.mjs';
import { crossingRows, direct, loggedRow, ownTargets, peerRows, rawEcho, rivals } from '../targets.mjs';

const rpcRow = 'gateway /rpc';

export const name = 'throughput';
export const title = 'Calls per second and latency';
export const about = `A small \`tools/call\` to a raw stdio echo in one shared process, at 1, 16 and 64 connections. Ids and arguments
differ in each call.

- Before the load, 400 calls are made, 64 at a time, and each response is compared with its request.
- The legacy rows of \`/mcp\` share one session.
- "Modern to legacy" and "legacy to modern" are calls between the two [eras](eras.md) of the MCP protocol:
  clients up to revision 2025-11-25 (legacy) and from 2026-07-28 on (modern). "Legacy to modern" uses a modern
  echo.
- "Raw echo" is the upstream itself, called by a client that writes to its stdin.`;
export const tables = ['calls/s', 'p50', 'p99'];
export const compared = { against: 'bare relay', columns: ['calls/s at 64', 'p50 at 1', 'p99 at 16'] };
export const goals = [
  { row: rpcRow, column: 'calls/s at 64', against: 'bare relay', factor: 0.5, sense: 'at least' },
  { row: rpcRow, column: 'calls/s at 64', against: peerRows, factor: 10, sense: 'at least' },
  { row: loggedRow, column: 'calls/s at 64', against: rpcRow, factor: 0.5, sense: 'at least' },
  // Calls from clients of one era (MCP with or without sessions) to a server of the other era.
  ...crossingRows.map((row) => {
    return { row, column: 'calls/s at 64', against: rpcRow, factor: 0.55, sense: 'at least' };
  }),
  { row: rpcRow, column: 'p50 at 1', against: 'bare relay', factor: 1.5, sense: 'at most' },
  { row: rpcRow, column: 'p99 at 16', against: 'bare relay', factor: 2.5, sense: 'at most' },
];

export async function* run(bench) {
  const targets = [await ownTargets(bench), await rivals(bench)];
  if (!bench.isAlone) targets.push(await direct(bench, 'raw echo', rawEcho));
  yield* interleave(bench, targets.flat(), [1, 16, 64], async ({ load }, connections) => {
    const { callsPerSecond, p50Ms, p99Ms } = await load({ connections, seconds: bench.seconds });
    return [
      { column: `calls/s at ${connections}`, value: callsPerSecond, unit: 'calls/s' },
      { column: `p50 at ${connections}`, value: p50Ms, unit: 'ms' },
      { column: `p99 at ${connections}`, value: p99Ms, unit: 'ms' },
    ];
  });
}
