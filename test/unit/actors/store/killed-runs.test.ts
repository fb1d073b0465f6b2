// A run with a journal parks and is killed (kill -9) at each step. After a restart it completes with the same
// result, without duplicate journal rows.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stepsOf } from '../../../../actors/store/run.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { bundledStoreChild, start } from '../../../fixtures/store/store-child.ts';
import { ANSWERED, JOURNAL, runToTheEnd } from '../../../fixtures/store/waiting-run.ts';

const PAUSE_MS = 10_000;

/** Continues from the state of the killed process, and checks that there are no duplicates. */
async function resumeToEnd(file: string): Promise<void> {
  const opened = openEngineStore({ file, now: Date.now() });
  const { store } = opened;
  const same = <T>(change: () => Promise<T>) => change();
  const pass = async () => opened.advance(PAUSE_MS);
  await runToTheEnd(store, same, pass);
  const records = await store.deliveries({ limit: 100 });
  expect(records.map(({ id }) => id).sort()).toEqual([...ANSWERED].sort());
  expect(await store.delivery('run:1')).toMatchObject({ state: 'done', answer: 'body of decision:1' });
  expect(await stepsOf(store, 'run:1')).toEqual(JOURNAL);
  expect(await store.run('run:1')).toMatchObject({ name: 'oncall', steps: JOURNAL.length });
  expect(await store.delivery('decision:1')).toMatchObject({ state: 'done' });
  expect(await store.counts()).toMatchObject({ queued: 2, running: 0, retrying: 0, waiting: 0, dead: 0 });
  // No timer of the wait is left.
  opened.advance(24 * 60 * PAUSE_MS);
  expect(await store.claim(5, PAUSE_MS, 'conversation/')).toEqual([]);
  await store.close();
}

test.each(['before', 'after'])(
  'a parked run reaches the same end if its process is killed %s any step',
  async (when) => {
    const child = bundledStoreChild('store-waiter.ts');
    const folder = storeFolder();
    let wasKilled = true;
    for (let step = 1; wasKilled; step += 1) {
      const file = join(folder, `${when}-${step}.db`);
      const { finished } = start(process.execPath, [child.script, file, `${step}`, when]);
      const { signal, code, stderr } = await finished;
      expect(stderr).toBe('');
      wasKilled = signal === 'SIGKILL';
      if (!wasKilled) expect({ code, hasSteps: step > 8 }).toEqual({ code: 0, hasSteps: true });
      await resumeToEnd(file);
    }
    child.remove();
  },
  120_000,
);
