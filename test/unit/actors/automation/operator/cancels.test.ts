// Cancelling what another node is handling.

import { expect, test } from 'vitest';
import { Cancels } from '../../../../../actors/automation/operator/cancels.ts';
import { UnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { silentLog } from '../../../../../actors/base/errors/log.ts';
import { newEvent } from '../../../../fixtures/automation/inbox.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

async function running(id: string) {
  const store = new MemoryStore();
  await store.append([newEvent(`k/${id}`, id)]);
  const [turn] = await store.claim(1, 60_000);
  if (turn === undefined) throw new Error('nothing was claimed');
  return { store, turn };
}

test('the node that runs it tells it to end, and whoever asked hears of that (CAN1)', async () => {
  const { store } = await running('a');
  const notes: string[] = [];
  const here = new Cancels({ store, log: silentLog, cancel: () => false });
  const there = new Cancels({
    store,
    log: silentLog,
    cancel: (id, note) => notes.push(`${id}: ${note}`) > 0 && id === 'a',
  });
  const asked = here.ask('a', 'not wanted');
  await here.look();
  await there.look();
  expect(await asked).toBe(true);
  expect([notes, await store.keys('cancel')]).toEqual([['a: not wanted'], []]);
});

test('what has ended meanwhile cannot be cancelled, and what nobody answers for is said to be so (CAN1)', async () => {
  const { store, turn } = await running('a');
  const here = new Cancels({ store, log: silentLog, cancel: () => false });
  await expect(here.ask('a', 'not wanted')).rejects.toThrow(UnavailableError);
  const asked = here.ask('a', 'not wanted');
  await store.commit([{ ...turn, seq: turn.event.seq, outcome: 'done' }]);
  expect(await asked).toBe(false);
  expect(await store.keys('cancel')).toEqual([]);
});
