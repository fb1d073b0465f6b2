// States of events on other nodes, for local waiters.

import { expect, test } from 'vitest';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { RemoteDeliveries } from '../../../../../actors/events/inbox/remote-deliveries.ts';
import type { DeliveryState } from '../../../../../actors/store/delivery.ts';
import type { EventStatus } from '../../../../../actors/store/store.ts';

function bench() {
  const records = new Map<string, EventStatus>();
  const awaited = new Set<string>();
  const reported: unknown[] = [];
  let polls = 0;
  const remote = new RemoteDeliveries({
    log: silentLog,
    store: {
      statuses: async (ids) => {
        polls += 1;
        return ids.flatMap((id) => records.get(id) ?? []);
      },
      delivery: async (id) => ({ ...records.get(id), answer: `of ${id}` }) as never,
    },
    awaitedIds: () => awaited,
    onSettled: (id, { state, answer }) => reported.push([id, state, answer]),
    onDeferred: (id) => reported.push([id, 'put off']),
    onStarted: (id) => reported.push([id, 'begun']),
    onRows: (id, count) => reported.push([id, count]),
  });
  const becomes = (id: string, state: DeliveryState, { attempts = 1, steps = 0 } = {}) =>
    records.set(id, { id, state, attempts, steps });
  return { remote, awaited, becomes, reported, pollCount: () => polls };
}

test('start, new steps and end of an attempt on another node are reported once; only awaited events are polled', async () => {
  const { remote, awaited, becomes, reported, pollCount } = bench();
  becomes('a', 'queued', { attempts: 0 });
  await remote.poll();
  expect(pollCount()).toBe(0);
  awaited.add('a');
  await remote.poll();
  becomes('a', 'running', { steps: 2 });
  await remote.poll();
  becomes('a', 'retrying', { steps: 2 });
  await remote.poll();
  becomes('a', 'running', { attempts: 2, steps: 3 });
  await remote.poll();
  becomes('a', 'done', { attempts: 2, steps: 4 });
  for (let n = 0; n < 3; n += 1) await remote.poll();
  expect(reported).toEqual([
    ['a', 2],
    ['a', 'begun'],
    ['a', 'put off'],
    ['a', 3],
    ['a', 'begun'],
    ['a', 4],
    ['a', 'done', 'of a'],
  ]);
});

test('an outcome from another node before the first poll is reported if the second poll confirms it', async () => {
  const { remote, awaited, becomes, reported } = bench();
  for (const id of ['stays', 'revives']) {
    becomes(id, 'dead');
    awaited.add(id);
  }
  await remote.poll();
  expect(reported).toEqual([]);
  becomes('revives', 'running', { attempts: 2 });
  await remote.poll();
  await remote.poll();
  expect(reported).toEqual([
    ['stays', 'dead', 'of stays'],
    ['revives', 'begun'],
  ]);
});

test('an outcome that this process reported is not reported again, but a later outcome is', async () => {
  const { remote, awaited, becomes, reported } = bench();
  becomes('a', 'running');
  awaited.add('a');
  await remote.poll();
  becomes('a', 'waiting');
  remote.markReported('a', 'waiting');
  await remote.poll();
  await remote.poll();
  expect(reported).toEqual([['a', 'begun']]);
  becomes('a', 'done');
  await remote.poll();
  expect(reported.at(-1)).toEqual(['a', 'done', 'of a']);
});
