// Snapshots of abandoned conversations are deleted after the retention period.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

const DAY_MS = 86_400_000;

const eventOf = (id: string, key: string) => ({ id, key, meta: '', body: Buffer.from('x'), trace: '' });

test('the stored state of a key is deleted after its retention, unless an event of the key waits or is scheduled', async () => {
  const file = join(storeFolder(), 'store.sqlite');
  const { store, advance } = openEngineStore({ file, snapshotRetentionMs: 3 * DAY_MS });
  const keys = ['k/quiet', 'k/waits', 'k/timed'];
  await store.append(keys.map((key) => eventOf(`1:${key}`, key)));
  const timers = [{ id: 't', inMs: 90 * DAY_MS, event: eventOf('later', 'k/timed') }];
  for (const { key, fence, event } of await store.claim(3, 1_000))
    await store.commit([
      {
        key,
        fence,
        seq: event.seq,
        outcome: 'done',
        snapshot: 'said',
        timers: key === 'k/timed' ? timers : [],
      },
    ]);
  await store.append([eventOf('2:k/waits', 'k/waits')]);
  advance(2 * DAY_MS);
  await store.sweep();
  await store.append([eventOf('3:k/quiet', 'k/quiet')]);
  const turns = await store.claim(3, 1_000);
  expect(turns.map(({ key, snapshot }) => [key, snapshot]).sort()).toEqual([
    ['k/quiet', 'said'],
    ['k/waits', 'said'],
  ]);
  for (const { key, fence, event } of turns)
    await store.commit([{ key, fence, seq: event.seq, outcome: key === 'k/waits' ? 'queued' : 'done' }]);
  advance(2 * DAY_MS);
  await store.sweep();
  await store.append(['k/quiet', 'k/timed'].map((key) => eventOf(`4:${key}`, key)));
  expect((await store.claim(3, 1_000)).map(({ key, snapshot }) => [key, snapshot]).sort()).toEqual([
    ['k/quiet', undefined],
    ['k/timed', 'said'],
    ['k/waits', 'said'],
  ]);
  await store.close();
});
