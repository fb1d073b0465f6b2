// Searches for rare deliveries among very many: a page reads a limited number of records, and all deliveries
// are found.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Delivery } from '../../../../actors/store/delivery.ts';
import type { Store } from '../../../../actors/store/store.ts';
import { openEngineStore, storeFolder } from '../../../fixtures/store/engine-store.ts';
import { fillStore, MANY, RARE } from '../../../fixtures/store/many-deliveries.ts';

/** Maximum number of records read per page. */
const MAX_RECORDS_READ = 200_000;
const NOW = Date.UTC(2026, 10, 21);

let store: Store;

beforeAll(async () => {
  const file = join(storeFolder(), 'many.sqlite');
  await fillStore(file, NOW);
  store = openEngineStore({ file, now: NOW }).store;
});
afterAll(() => store.close());

const seqs = (deliveries: readonly Delivery[]) => deliveries.map(({ seq }) => seq);
/** Delivery receipt time. */
const receiptOf = (seq: number) => NOW - (MANY - seq) * 1_000;

describe('a page of a delivery search', () => {
  test('is created from a limited number of records, and contains the matches and the position of the next page', async () => {
    const first = await store.deliveryPage({ trigger: 'rare', limit: 50 });
    expect([seqs(first.deliveries), first.beforeSeq]).toEqual([[RARE[2]], MANY - MAX_RECORDS_READ + 1]);
    const second = await store.deliveryPage({ trigger: 'rare', limit: 50, beforeSeq: first.beforeSeq ?? 0 });
    expect([seqs(second.deliveries), second.beforeSeq]).toEqual([[RARE[1]], MANY - 2 * MAX_RECORDS_READ + 1]);
    const last = await store.deliveryPage({ trigger: 'rare', limit: 50, beforeSeq: second.beforeSeq ?? 0 });
    expect([seqs(last.deliveries), last.beforeSeq]).toEqual([[RARE[0]], undefined]);
  });

  test('ends as soon as it contains the requested number of deliveries', async () => {
    const page = await store.deliveryPage({ trigger: 'rare', limit: 1 });
    expect([seqs(page.deliveries), page.beforeSeq]).toEqual([[RARE[2]], RARE[2]]);
  });

  test('is the last page if all earlier records are older than the filter', async () => {
    const page = await store.deliveryPage({ trigger: 'nobody', since: receiptOf(MANY - 3_600), limit: 50 });
    expect(page).toEqual({ deliveries: [], beforeSeq: undefined });
  });

  test('is created without a read of other deliveries if only dead deliveries are requested', async () => {
    const page = await store.deliveryPage({ states: ['dead'], limit: 50 });
    // The only dead delivery precedes the first rare one (many-deliveries.ts).
    expect([seqs(page.deliveries), page.beforeSeq]).toEqual([[RARE[0] - 1], undefined]);
  });
});

test('a time filter includes deliveries at that exact time, and no earlier deliveries', async () => {
  const since = receiptOf(RARE[1]);
  expect(seqs(await store.deliveries({ trigger: 'rare', since, limit: 50 }))).toEqual([RARE[2], RARE[1]]);
});

test('a delivery search without pages returns all matches among very many records', async () => {
  expect(seqs(await store.deliveries({ trigger: 'rare', limit: 50 }))).toEqual([...RARE].reverse());
});
