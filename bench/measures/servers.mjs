// What a server of the catalog costs that nobody has called yet.

import { strictEqual } from 'node:assert';
import { startGateway } from '../gateway.mjs';
import { rawEcho } from '../targets.mjs';
import { timedStart } from '../timed-start.mjs';

const none = 'no server';

export const name = 'servers';
export const title = 'Memory per stopped server';
export const about = `A catalog of 1,000 stdio servers, none of which was ever started, against an empty one: heap in use after a forced
collection once the gateway is healthy, and the time from the start of its process to the first 200 at \`/health\`. A stopped
server has its actor under supervision already, an XState machine of 2 to 3 KB.`;

export async function* run(bench) {
  const count = bench.isSmoke ? 20 : 1000;
  const many = `${count.toLocaleString('en-US')} servers`;
  const entry = (at) => [`server-${at}`, { ...rawEcho, env: { SERVER_NUMBER: String(at) } }];
  const catalogs = [
    [none, {}],
    [many, Object.fromEntries(Array.from({ length: count }, (_, at) => entry(at)))],
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
      yield sample('start', await timedStart(bench, gateway.folder), 'ms');
    }
    const value = (heaps.get(many) - heaps.get(none)) / 1000 / count;
    yield { round, row: many, column: 'heap per server', value, unit: 'KB' };
  }
}
