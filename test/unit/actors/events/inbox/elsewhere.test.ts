// What becomes of events on other nodes, as whoever waits for them here is told.

import { expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { Elsewhere } from '../../../../../actors/events/inbox/elsewhere.ts';
import type { DeliveryState } from '../../../../../actors/store/delivery.ts';
import type { Standing } from '../../../../../actors/store/store.ts';

function bench() {
  const records = new Map<string, Standing>();
  const awaited = new Set<string>();
  const told: unknown[] = [];
  let asked = 0;
  const elsewhere = new Elsewhere({
    log: silentLog,
    store: {
      standings: async (ids) => {
        asked += 1;
        return ids.flatMap((id) => records.get(id) ?? []);
      },
      delivery: async (id) => ({ ...records.get(id), answer: `of ${id}` }) as never,
    },
    awaited: () => awaited,
    onSettled: (id, { state, answer }) => told.push([id, state, answer]),
    onPutOff: (id) => told.push([id, 'put off']),
    onBegun: (id) => told.push([id, 'begun']),
    onRows: (id, count) => told.push([id, count]),
  });
  const becomes = (id: string, state: DeliveryState, { attempts = 1, steps = 0 } = {}) =>
    records.set(id, { id, state, attempts, steps });
  return { elsewhere, awaited, becomes, told, asked: () => asked };
}

test('an attempt, its rows and its end are told once each, and the store is asked for nobody else (ELS1, ELS3)', async () => {
  const { elsewhere, awaited, becomes, told, asked } = bench();
  becomes('a', 'queued', { attempts: 0 });
  await elsewhere.look();
  expect(asked()).toBe(0);
  awaited.add('a');
  await elsewhere.look();
  becomes('a', 'running', { steps: 2 });
  await elsewhere.look();
  becomes('a', 'retrying', { steps: 2 });
  await elsewhere.look();
  becomes('a', 'running', { attempts: 2, steps: 3 });
  await elsewhere.look();
  becomes('a', 'done', { attempts: 2, steps: 4 });
  for (let n = 0; n < 3; n += 1) await elsewhere.look();
  expect(told).toEqual([
    ['a', 2],
    ['a', 'begun'],
    ['a', 'put off'],
    ['a', 3],
    ['a', 'begun'],
    ['a', 4],
    ['a', 'done', 'of a'],
  ]);
});

test('an end that was there before is told when it stands still at the second look (ELS2)', async () => {
  const { elsewhere, awaited, becomes, told } = bench();
  for (const id of ['stays', 'revives']) {
    becomes(id, 'dead');
    awaited.add(id);
  }
  await elsewhere.look();
  expect(told).toEqual([]);
  becomes('revives', 'running', { attempts: 2 });
  await elsewhere.look();
  await elsewhere.look();
  expect(told).toEqual([
    ['stays', 'dead', 'of stays'],
    ['revives', 'begun'],
  ]);
});

test('what has been told here is not told again, and a later end is (ELS1)', async () => {
  const { elsewhere, awaited, becomes, told } = bench();
  becomes('a', 'running');
  awaited.add('a');
  await elsewhere.look();
  becomes('a', 'waiting');
  elsewhere.told('a', 'waiting');
  await elsewhere.look();
  await elsewhere.look();
  expect(told).toEqual([['a', 'begun']]);
  becomes('a', 'done');
  await elsewhere.look();
  expect(told.at(-1)).toEqual(['a', 'done', 'of a']);
});
