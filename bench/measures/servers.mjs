// Cost of servers that are never called: memory, and gateway start time.

import { strictEqual } from 'node:assert';
import { startGateway } from '../gateway.mjs';
import { rawEcho } from '../targets.mjs';
import { timeStart } from '../timed-start.mjs';

const noneRow = 'no server';

export const name = 'servers';
export const title = 'Memory per stopped server';
export const about = `A catalog of 1,000 stdio servers that were never started, compared with an empty catalog: heap in use after a
forced collection when the gateway is healthy, and the time from the start of the process to the first 200 at
\`/health\`. A stopped server already has a supervised actor, an XState machine of 2 to 3 KB.`;

export async function* run(bench) {
  const count = bench.isSmoke ? 20 : 1000;
  const manyRow = `${count.toLocaleString('en-US')} servers`;
  const entry = (at) => [`server-${at}`, { ...rawEcho, env: { SERVER_NUMBER: String(at) } }];
  const catalogs = [
    [noneRow, {}],
    [manyRow, Object.fromEntries(Array.from({ length: count }, (_, at) => entry(at)))],
  ];
  for (let round = 1; round <= bench.rounds; round += 1) {
    const heaps = new Map();
    for (const [row, servers] of catalogs) {
      const sample = (column, value, unit) => ({ round, row, column, value, unit });
      const gateway = await startGateway(bench, { servers, hasProbe: true });
      const { heapUsed, rss } = await gateway.memory();
      const stats = await (await fetch(`${gateway.url}/stats`)).json();
      await gateway.stop();
      strictEqual(Object.keys(stats.servers).length, Object.keys(servers).length);
      heaps.set(row, heapUsed);
      yield sample('heap', heapUsed / 1e6, 'MB');
      yield sample('RSS', rss / 1e6, 'MB');
      yield sample('start', await timeStart(bench, gateway.folder), 'ms');
    }
    const value = (heaps.get(manyRow) - heaps.get(noneRow)) / 1000 / count;
    yield { round, row: manyRow, column: 'heap per server', value, unit: 'KB' };
  }
}
