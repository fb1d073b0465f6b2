// Looking for a few deliveries among very many: no page walks through all of them, and yet all can be found.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../../actors/store/delivery.ts';
import type { Store } from '../../../../actors/store/store.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { fillStore, MANY, RARE } from '../../../fixtures/store/many-deliveries.ts';

/** What one page may look at. */
const LOOKED_AT = 200_000;
const NOW = Date.UTC(2026, 10, 21);

let store: Store;

beforeAll(async () => {
  const file = join(storeFolder(), 'many.sqlite');
  await fillStore(file, NOW);
  store = openEngineStore({ file, now: NOW }).store;
});
afterAll(() => store.close());

const seqs = (deliveries: readonly Delivery[]) => deliveries.map(({ seq }) => seq);
/** When that delivery was received. */
const receiptOf = (seq: number) => NOW - (MANY - seq) * 1_000;

describe('a page of what hardly ever occurs', () => {
  test('ends after a bounded number of records with what was found, and says where to go on', async () => {
    const first = await store.deliveryPage({ trigger: 'rare', limit: 50 });
    expect([seqs(first.deliveries), first.beforeSeq]).toEqual([[RARE[2]], MANY - LOOKED_AT + 1]);
    const second = await store.deliveryPage({ trigger: 'rare', limit: 50, beforeSeq: first.beforeSeq ?? 0 });
    expect([seqs(second.deliveries), second.beforeSeq]).toEqual([[RARE[1]], MANY - 2 * LOOKED_AT + 1]);
    const last = await store.deliveryPage({ trigger: 'rare', limit: 50, beforeSeq: second.beforeSeq ?? 0 });
    expect([seqs(last.deliveries), last.beforeSeq]).toEqual([[RARE[0]], undefined]);
  });

  test('ends where it is full', async () => {
    const page = await store.deliveryPage({ trigger: 'rare', limit: 1 });
    expect([seqs(page.deliveries), page.beforeSeq]).toEqual([[RARE[2]], RARE[2]]);
  });

  test('is the last one when all before it is older than what is asked for', async () => {
    const page = await store.deliveryPage({ trigger: 'nobody', since: receiptOf(MANY - 3_600), limit: 50 });
    expect(page).toEqual({ deliveries: [], beforeSeq: undefined });
  });

  test('of dead ones looks at the dead only', async () => {
    const page = await store.deliveryPage({ states: ['dead'], limit: 50 });
    expect([seqs(page.deliveries), page.beforeSeq]).toEqual([[RARE[0] - 1], undefined]);
  });
});

test('what came at the very moment that is asked for is found, and nothing before it', async () => {
  const since = receiptOf(RARE[1]);
  expect(seqs(await store.deliveries({ trigger: 'rare', since, limit: 50 }))).toEqual([RARE[2], RARE[1]]);
});

test('whoever asks for all of them gets all', async () => {
  expect(seqs(await store.deliveries({ trigger: 'rare', limit: 50 }))).toEqual([...RARE].reverse());
});
