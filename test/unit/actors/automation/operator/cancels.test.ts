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
  if (turn === undefined) throw new Error('expected a claim');
  return { store, turn };
}

test('a cancel request reaches the node that runs the delivery, and the requester learns that it was cancelled', async () => {
  const { store } = await running('a');
  const notes: string[] = [];
  const localCancels = new Cancels({ store, log: silentLog, cancel: () => false });
  const remoteCancels = new Cancels({
    store,
    log: silentLog,
    cancel: (id, note) => notes.push(`${id}: ${note}`) > 0 && id === 'a',
  });
  const result = localCancels.request('a', 'not wanted');
  await localCancels.poll();
  await remoteCancels.poll();
  expect(await result).toBe(true);
  expect([notes, await store.keys('cancel')]).toEqual([['a: not wanted'], []]);
});

test('a request to cancel an ended delivery has no effect, and a cancel request without a response fails', async () => {
  const { store, turn } = await running('a');
  const localCancels = new Cancels({ store, log: silentLog, cancel: () => false });
  await expect(localCancels.request('a', 'not wanted')).rejects.toThrow(UnavailableError);
  const result = localCancels.request('a', 'not wanted');
  await store.commit([{ ...turn, seq: turn.event.seq, outcome: 'done' }]);
  expect(await result).toBe(false);
  expect(await store.keys('cancel')).toEqual([]);
});
