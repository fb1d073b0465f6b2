// A clock step of an hour back must not delay ready events.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';

const HOUR_MS = 3_600_000;
const folder = storeFolder();
let count = 0;

function open(now?: number) {
  const file = join(folder, `${now === undefined ? ++count : count}.sqlite`);
  return openEngineStore(now === undefined ? { file } : { file, now });
}

test('waiting events are claimed after the clock was set back, the oldest of each key first', async () => {
  const { store, advance } = open();
  await store.append([newEvent('conversation/a', 'a1')]);
  advance(-HOUR_MS);
  await store.append([newEvent('conversation/a', 'a2'), newEvent('conversation/b', 'b1')]);
  const turns = await store.claim(10, 1_000);
  expect(turns.map(({ event }) => event.id).sort()).toEqual(['a1', 'b1']);
  await store.close();
});

test('waiting events are claimed if the clock was set back while the gateway was stopped', async () => {
  const before = open();
  await before.store.append([newEvent('conversation/a', 'a1')]);
  await before.store.close();
  const { store } = open(before.now() - HOUR_MS);
  expect((await store.claim(10, 1_000)).map(({ event }) => event.id)).toEqual(['a1']);
  await store.close();
});

test('an approval keeps its remaining time after the clock was set back', async () => {
  const { store, setClock, now } = open();
  await store.append([newEvent('conversation/a', 'a1')]);
  const [turn] = await store.claim(1, 1_000);
  if (turn === undefined) throw new Error('nothing was claimed');
  const { key, fence, event } = turn;
  const asks = [{ id: 'one', body: '{}', expiresInMs: 60_000 }];
  await store.commit([{ key, fence, seq: event.seq, outcome: 'parked', parkedOn: 'yes', asks }]);
  setClock(-HOUR_MS);
  await store.append([newEvent('conversation/b', 'b1')]);
  expect((await store.approval('one'))?.expiresAt).toBe(now() + 60_000);
  await store.close();
});

test('after the clock was set back, a valid claim is not claimed again, and a retry keeps its pause', async () => {
  const { store, advance } = open();
  await store.append([newEvent('conversation/a', 'a1'), newEvent('conversation/b', 'b1')]);
  const [a, b] = await store.claim(10, 2 * HOUR_MS);
  if (a === undefined || b === undefined) throw new Error('two mailboxes were to be claimed');
  const { key, fence } = b;
  await store.commit([{ key, fence, seq: b.event.seq, outcome: 'retrying', retryInMs: 60_000 }]);
  advance(-HOUR_MS);
  expect(await store.claim(10, 1_000)).toEqual([]);
  advance(HOUR_MS + 60_000);
  expect((await store.claim(10, 1_000)).map((turn) => turn.key)).toEqual([b.key]);
  expect((await store.renew([a], 1_000)).length).toBe(1);
  await store.close();
});
