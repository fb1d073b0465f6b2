import { expect, test } from 'vitest';
import { triggerDetails } from '../../../../../actors/automation/operator/trigger-details.ts';
import type { WorkOutcome } from '../../../../../actors/events/inbox/work.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import { triggerDetails as record } from '../../../../../src/http/api/trigger-records.ts';
import { FakeWork, newEvent, startInbox, until } from '../../../../fixtures/automation/inbox.ts';
import { manualTrigger } from '../../../../fixtures/automation/triggers.ts';

const trigger = 'chat';
const retry = { attempts: 6, min_backoff_seconds: 600, max_backoff_seconds: 600, factor: 1 };
const deferred: WorkOutcome = {
  kind: 'deferred',
  trigger,
  note: 'nothing is sent for now',
  inMs: 600_000,
  retry,
};
const refused: WorkOutcome = { kind: 'failed', trigger, note: '502 bad gateway', retry };
const dead: WorkOutcome = { kind: 'failed', trigger, note: '403 not in the channel', isFinal: true, retry };

async function lastRefusal(outcomes: Readonly<Record<string, WorkOutcome>>) {
  const work = new FakeWork(async ({ event }) => outcomes[event.id] ?? { kind: 'done', trigger }, 'outbox/');
  const { dispatcher, store } = startInbox({ works: [work] });
  try {
    const ids = Object.keys(outcomes);
    for (const id of ids) await store.append([newEvent(`outbox/chat/bot/${id}`, id)]);
    await until('all were attempted', async () => {
      const states = await Promise.all(ids.map(async (id) => (await store.delivery(id))?.state));
      return states.every((state) => state === 'retrying' || state === 'dead');
    });
    const all = manualTrigger(trigger);
    const details = await triggerDetails(all, [all], manualAdapter, store);
    const status = { trigger: all, counts: {} } as Parameters<typeof record>[0];
    return record({ ...status, ...details }).last_refusal;
  } finally {
    await dispatcher.drain(200);
  }
}

const at = expect.stringMatching(/^20/);

test('a deferred message is not shown as the last refused message of a trigger', async () => {
  expect(await lastRefusal({ held: deferred })).toBeNull();
});

test('the last refused message of a trigger is shown with its time, even if later messages are deferred', async () => {
  expect(await lastRefusal({ old: dead, failed: refused, held: deferred })).toEqual({
    id: 'failed',
    state: 'retrying',
    at,
    note: '502 bad gateway',
  });
  expect(await lastRefusal({ failed: refused, gone: dead, held: deferred })).toEqual({
    id: 'gone',
    state: 'dead',
    at,
    note: '403 not in the channel',
  });
});
