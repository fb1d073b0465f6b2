// Claims with an append, on the embedded store. store-conformance.ts tests the behaviour of all stores.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openSqliteStore } from '../../../../../actors/store/worker/sqlite-store.ts';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';
import { storeWorkerUrl } from '../../../../fixtures/store/store-worker.ts';

const CLAIM_MS = 600_000;
const newFile = () => join(storeFolder(), 'store.sqlite');

test('an event with text that SQLite changes is not claimed when it is appended, but later, as stored', async () => {
  const { store } = openEngineStore({ file: newFile() });
  const whole = eventOf('a:1', 'k/1');
  const broken = [
    { ...whole, key: 'k/\0' },
    { ...whole, id: 'a:\0', key: 'k/2' },
    { ...whole, id: 'a:2', key: 'k/3', meta: '{"\0":1}' },
    { ...whole, id: 'a:3', key: 'k/4', trace: '\0' },
  ];
  for (const event of broken)
    expect(await store.append([event], { claimMs: CLAIM_MS })).toEqual([
      { id: event.id, outcome: 'new', state: 'queued' },
    ]);
  // The event is already waiting in this mailbox.
  for (const [id, key] of [
    ['b:1', 'k/\ufffd'],
    ['b:2', 'k/\0'],
  ] as const)
    expect(await store.append([eventOf(id, key)], { claimMs: CLAIM_MS })).toEqual([
      { id, outcome: 'new', state: 'queued' },
    ]);
  const turns = await store.claim(10, CLAIM_MS);
  expect(turns.map(({ key, event: { id, meta, trace } }) => ({ id, key, meta, trace }))).toEqual(
    broken.map(({ id, key, meta, trace }) => {
      const [keptId, keptKey, keptMeta, keptTrace] = [id, key, meta, trace].map((text) =>
        text.replace('\0', '\ufffd'),
      );
      return { id: keptId, key: keptKey, meta: keptMeta, trace: keptTrace };
    }),
  );
  const [turn] = turns;
  if (turn === undefined) throw new Error('nothing was claimed');
  expect(await store.commit([resultOf(turn)])).toMatchObject([{ isCurrent: true, next: { id: 'b:1' } }]);
  await store.close();
});

test('event keys that SQLite cannot distinguish share one queue, whose events run one at a time', async () => {
  const { store } = openEngineStore({ file: newFile() });
  const halves = ['k/\ud800', 'k/\ud801', 'k/\udc00x'.slice(0, 3)];
  for (const [n, key] of halves.entries())
    await store.append([eventOf(`a:${n}`, key)], { claimMs: CLAIM_MS });
  for (const expected of ['a:0', 'a:1', 'a:2']) {
    const turns = await store.claim(10, CLAIM_MS);
    expect(turns.map(({ key, event: { id } }) => [key, id])).toEqual([['k/\ufffd', expected]]);
    const [turn] = turns;
    if (turn === undefined) throw new Error('nothing was claimed');
    await store.commit([{ ...resultOf(turn), isLast: true }]);
  }
  expect(await store.counts()).toMatchObject({ queued: 0, running: 0 });
  await store.close();
});

test('an append with a claim returns the parsed event as the same object, without a copy through the store thread', async () => {
  const store = await openSqliteStore({ file: newFile(), workerUrl: storeWorkerUrl() });
  // A function cannot be cloned.
  const parsed = { read: () => 'something' };
  const [first, second] = await store.append(
    [
      { ...eventOf('a:1', 'k/1'), parsed },
      { ...eventOf('a:2', 'k/1'), parsed },
    ],
    { claimMs: CLAIM_MS },
  );
  expect(first?.turn?.event.parsed).toBe(parsed);
  expect(second?.turn).toBeUndefined();
  if (first?.turn === undefined) throw new Error('it came without its turn');
  const [committed] = await store.commit([resultOf(first.turn)]);
  expect(committed?.next).toMatchObject({ id: 'a:2' });
  expect(committed?.next?.parsed).toBeUndefined();
  await store.close();
});

test('an append with a large body claims no event, and the next claim returns all events', async () => {
  const store = await openSqliteStore({ file: newFile(), workerUrl: storeWorkerUrl() });
  const large = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);
  const events = [eventOf('a:1', 'k/1'), eventOf('a:2', 'k/2', large.slice())];
  const appended = await store.append(events, { claimMs: CLAIM_MS });
  expect(appended.map(({ state, turn }) => [state, turn])).toEqual([
    ['queued', undefined],
    ['queued', undefined],
  ]);
  const turns = await store.claim(10, CLAIM_MS);
  expect(turns.map(({ event }) => event.id)).toEqual(['a:1', 'a:2']);
  expect(Buffer.from(turns[1]?.event.body ?? []).equals(large)).toBe(true);
  await store.close();
});
