// How much of bodies the embedded store gives out with one call: a little more than 16 MiB at most, however many wait.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';

const CLAIM_MS = 600_000;
const MB = 1024 * 1024;

test('a commit of many turns brings as much of what follows as a claim does; the rest is claimed', async () => {
  const { store } = openEngineStore({ file: join(storeFolder(), 'store.sqlite') });
  const keys = Array.from({ length: 6 }, (_, n) => `k/${n}`);
  await store.append(keys.map((key) => eventOf(`small of ${key}`, key)));
  await store.append(keys.map((key) => eventOf(`large of ${key}`, key, new Uint8Array(7 * MB))));
  const turns = await store.claim(10, CLAIM_MS);
  expect(turns).toHaveLength(6);
  const committed = await store.commit(turns.map((turn) => resultOf(turn)));
  expect(committed.map(({ isCurrent }) => isCurrent)).toEqual(new Array(6).fill(true));
  expect(committed.filter(({ next }) => next !== undefined)).toHaveLength(3);
  const rest = await store.claim(10, CLAIM_MS);
  expect(rest.map(({ event: { id, attempt } }) => [id, attempt])).toEqual(
    ['k/3', 'k/4', 'k/5'].map((key) => [`large of ${key}`, 1]),
  );
});
