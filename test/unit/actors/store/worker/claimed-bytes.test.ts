// The embedded store returns bodies of about 16 MiB per call, for any number of waiting events.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openEngineStore, storeFolder } from '../../../../fixtures/store/engine-store.ts';
import { eventOf, resultOf } from '../../../../fixtures/store/store-conformance.ts';

const CLAIM_MS = 600_000;
const MB = 1024 * 1024;

test('committing many events claims their successors only up to a size limit; the rest is claimed later', async () => {
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
