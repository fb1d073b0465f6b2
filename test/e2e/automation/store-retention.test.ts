// Periodic removal of old rows from the store. A preloaded script shortens the interval and the retention
// times; everything else is unchanged.

import { join } from 'node:path';
import Database from 'libsql';
import { expect, test } from 'vitest';
import {
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';

const SWEEP_MS = 600_000;
const shortened = `const real = setInterval;
globalThis.setInterval = (action, ms, ...rest) => real(action, ms === ${SWEEP_MS} ? 100 : ms, ...rest);`;

const schedule = (name: string) =>
  trigger(name, { type: 'Schedule', config: { cron: '* * * * * *' }, default_agent: 'clerk' });

/** Schedules that have rows in a stopped gateway's store. */
function storedRowsIn(folder: string): {
  readonly plans: readonly string[];
  readonly ticked: readonly string[];
} {
  const db = new Database(join(folder, '.gateway', 'store.sqlite'));
  const column = (sql: string) => (db.prepare(sql).raw(true).all() as string[][]).flat().sort();
  try {
    const plans = column("SELECT key FROM kv WHERE space = 'schedule'");
    return { plans, ticked: column('SELECT DISTINCT name FROM tick') };
  } finally {
    db.close();
  }
}

test('rows of a schedule removed long ago are deleted, and rows of other schedules stay', async () => {
  const program = await startAgent();
  const clerk = httpAgent('clerk', program.url);
  const folder = temporaryFolder();
  /** Runs a gateway until every named schedule has fired. */
  async function run(...names: string[]): Promise<void> {
    const before = program.requests.length;
    const settings = { deliveries: { retention_days: 1 / 86_400 } };
    const resources = [...names.map(schedule), clerk];
    const gateway = await startAutomation({
      folder,
      resources,
      settings,
      env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(shortened)}` },
    });
    await eventually(() => {
      const conversations = program.requests.slice(before).map(({ body }) => body.conversation);
      for (const name of names) expect(conversations).toContain(`schedule/${name}`);
    });
    await gateway.stop();
  }

  await run('stays', 'goes');
  expect(storedRowsIn(folder)).toEqual({
    plans: ['goes', 'stays'],
    ticked: ['schedule/goes', 'schedule/stays'],
  });
  await eventually(async () => {
    await run('stays');
    expect(storedRowsIn(folder)).toEqual({ plans: ['stays'], ticked: ['schedule/stays'] });
  });
});
