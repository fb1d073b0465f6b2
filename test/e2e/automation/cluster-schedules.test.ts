// A schedule on three gateways on the same database. The clock of one gateway is ten minutes slow. Every
// instant fires once and on time.

import { setTimeout as elapse } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { newDatabase } from '../../fixtures/store/shared-postgres.ts';

const BEHIND_MS = 600_000;
const slowClockCode = `globalThis.Date = class extends Date { constructor(...a) { a.length === 0 ? super(Date.now()) : super(...a); } static #now = Date.now; static now() { return this.#now() - ${BEHIND_MS}; } }`;

interface Row {
  readonly id: string;
  readonly received_at: string;
}

test('each instant of a schedule fires once and on time in a cluster, despite a kill, a reload and a wrong clock', async () => {
  const program = await startAgent();
  const url = await newDatabase();
  const resources = [
    trigger('tick', {
      type: 'Schedule',
      config: { cron: '* * * * * *', timezone: 'UTC', catchup: 'all', overlap: 'queue' },
      default_agent: 'echo',
    }),
    httpAgent('echo', program.url),
  ];
  const start = (name: string, env = {}) =>
    startAutomation({ resources, env, settings: { store: { postgres: { url } }, node: { name } } });
  const clockEnv = { NODE_OPTIONS: `--import "data:text/javascript,${encodeURIComponent(slowClockCode)}"` };
  const from = Date.now();
  const [a, b, c] = await Promise.all([start('a'), start('b'), start('c', clockEnv)]);
  expect(a && b && c).toBeDefined();
  expect(Date.parse(String(c?.logs()[0]?.time))).toBeLessThan(from - BEHIND_MS / 2);
  await elapse(4_000);
  await b?.stop('SIGKILL');
  await fetch(`${a?.url}/admin/reload`, { method: 'POST' });
  await elapse(3_000);
  await a?.stop();
  await elapse(3_000);
  const rows = await eventually(async () => {
    const listed = await fetch(`${c?.url}/deliveries?limit=200`);
    const { deliveries } = (await listed.json()) as { deliveries: Row[] };
    return deliveries.filter(({ id }) => id.startsWith('schedule:tick'));
  });
  const instants = rows.map(({ id }) => Date.parse(id.slice('schedule:tick/'.length)) / 1_000);
  const sorted = [...instants].sort((one, other) => one - other);
  expect(new Set(sorted).size).toBe(sorted.length);
  const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
  expect(first * 1_000).toBeGreaterThan(from - 1_000);
  // No instant is missing.
  expect(sorted).toHaveLength(last - first + 1);
  expect(Date.now() - last * 1_000).toBeLessThan(8_000);
  expect(c?.text()).not.toContain('clock set back');
  await c?.stop();
});
