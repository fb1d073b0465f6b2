// Invariant A9 is in ARCHITECTURE.md.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Operator, type OperatorHost } from '../../../../../actors/automation/operator/operator.ts';
import { TriggerCounters } from '../../../../../actors/automation/triggers/counters.ts';
import { Pauses } from '../../../../../actors/automation/triggers/pauses.ts';
import { UnavailableError } from '../../../../../actors/base/errors/errors.ts';
import { Redactor } from '../../../../../actors/base/errors/redact.ts';
import { localDeliveryControl } from '../../../../../actors/events/inbox/delivery-control.ts';
import { DeliveryWaits } from '../../../../../actors/events/inbox/delivery-waits.ts';
import type { Dispatcher } from '../../../../../actors/events/inbox/dispatcher.ts';
import { manualAdapter } from '../../../../../actors/platforms/manual/adapter.ts';
import { agentTarget } from '../../../../../config/resources/triggers/target.ts';
import type { Trigger } from '../../../../../config/resources/triggers/trigger.ts';
import { done, FakeWork, newEvent, startInbox, until } from '../../../../fixtures/automation/inbox.ts';
import { MemoryStore } from '../../../../fixtures/store/memory-store.ts';

const unhandled: unknown[] = [];
const note = (error: unknown) => unhandled.push(error);
beforeEach(() => {
  unhandled.length = 0;
  process.on('unhandledRejection', note);
});
afterEach(() => {
  process.off('unhandledRejection', note);
});

const redact = (text: string) => text.replaceAll('hunter2', '[redacted]');

const manual = {
  name: 'deploy',
  type: 'Manual',
  enabled: true,
  commands: [],
  default_target: agentTarget('deployer'),
  config: { require_confirmation: false, allowed_commands: [] },
} as unknown as Trigger;

test('a manual run above the limit of waiting callers is refused before its event is stored', async () => {
  const store = new MemoryStore();
  const deliveryWaits = new DeliveryWaits(0);
  // Simulates disk latency.
  const append = store.append.bind(store);
  store.append = async (events) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return append(events);
  };
  const operator = new Operator({
    store,
    triggers: { get: () => manual },
    adapterOf: () => manualAdapter,
    deliveries: localDeliveryControl({
      store,
      dispatcher: {
        waitUntilSettled: (trigger: string, id: string, ms: number) => deliveryWaits.wait(trigger, id, ms),
      } as Dispatcher,
      redact,
    }),
  } as unknown as OperatorHost);
  const run = { command: '', input: {}, text: 'now', isConfirmed: true, waitSeconds: 1 };
  await expect(operator.run('deploy', run, '')).rejects.toMatchObject({ code: 'ERR_OVERLOADED' });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect([unhandled, await store.deliveries({ limit: 10 })]).toEqual([[], []]);
});

test('a manual run does not count as a waiting caller after the store has refused its event', async () => {
  const store = new MemoryStore();
  const { dispatcher } = startInbox({ works: [new FakeWork(async () => done)], store, maxWaiting: 1 });
  const operator = new Operator({
    store,
    triggers: { get: () => manual },
    adapterOf: () => manualAdapter,
    deliveries: localDeliveryControl({ store, dispatcher, redact }),
  } as unknown as OperatorHost);
  const run = { command: '', input: {}, text: 'now', isConfirmed: true, waitSeconds: 60 };
  const append = store.append.bind(store);
  store.append = () => Promise.reject(new UnavailableError('the store is full', 5));
  await expect(operator.run('deploy', run, '')).rejects.toThrow('the store is full');
  store.append = append;
  expect(await operator.run('deploy', run, '')).toMatchObject({ state: 'done' });
  await dispatcher.drain(200);
});

test('the caller that waits for a delivery is notified when an operator discards the delivery', async () => {
  const store = new MemoryStore();
  const { dispatcher } = startInbox({ works: [new FakeWork(async () => done)], store });
  const operator = new Operator({
    store,
    deliveries: localDeliveryControl({ store, dispatcher, redact }),
  } as unknown as OperatorHost);
  const settled = dispatcher.waitUntilSettled('t', 'a1', 60_000);
  await store.append([newEvent('elsewhere/a', 'a1')]);
  expect(await operator.discard('a1')).toMatchObject({ state: 'ignored' });
  expect(await settled).toEqual({ state: 'ignored', answer: undefined, note: 'discarded by an operator' });
  await dispatcher.drain(200);
});

test('a reported delivery failure is stored without secrets (A9)', async () => {
  const store = new MemoryStore();
  const { dispatcher } = startInbox({
    works: [new FakeWork(async () => ({ ...done, receipt: 'r1' }))],
    store,
  });
  const deliveries = localDeliveryControl({ store, dispatcher, redact });
  await store.append([newEvent('conversation/a', 'a1')]);
  await until('the message was sent', async () => (await store.delivery('a1'))?.state === 'done');
  const failedReceipt = { receipt: 'r1', note: '131026 lost, by hunter2' };
  expect(await deliveries.undeliver('conversation/', [failedReceipt])).toEqual(['a1']);
  expect(await store.delivery('a1')).toMatchObject({ state: 'dead', note: '131026 lost, by [redacted]' });
  await dispatcher.drain(200);
});

test.each(['cancel', 'discard'] as const)(
  '%s ends a parked event, frees its conversation and cancels its timer; a later waking event has no effect',
  async (end) => {
    const store = new MemoryStore();
    const alarm = { ...newEvent('conversation/a', 'alarm'), kind: 'timer', wakes: 'it' };
    const work = new FakeWork(async ({ event }) => {
      if (event.id !== 'a1') return done;
      const timers = [{ id: 't', inMs: 50, event: alarm }];
      return { kind: 'parked', parkedOn: 'it', holdsKey: true, timers };
    });
    const { dispatcher } = startInbox({ works: [work], store, pollMs: 20 });
    const deliveries = localDeliveryControl({ store, dispatcher, redact });
    expect(await deliveries.cancel('a1', 'no')).toBe(false);
    await store.append([newEvent('conversation/a', 'a1'), newEvent('conversation/a', 'a2')]);
    await until('the event is parked', async () => (await store.delivery('a1'))?.state === 'waiting');
    const settled = deliveries.waitUntilSettled('t', 'a1', 20_000);
    expect(await deliveries[end]('a1', 'not wanted')).toBe(true);
    expect(await settled).toMatchObject({ state: 'ignored', note: 'not wanted' });
    expect(await deliveries.cancel('a1', 'again')).toBe(false);
    await store.append([{ ...newEvent('conversation/a', 'w1'), kind: 'decision', wakes: 'it' }]);
    await until('the other events have ended', async () => (await store.delivery('w1'))?.state === 'done');
    await sleep(100);
    expect(work.runs.map(({ id }) => id)).toEqual(['a1', 'a2', 'w1']);
    expect(await store.delivery('a1')).toMatchObject({ state: 'ignored', waitingFor: undefined });
    expect(await store.delivery('alarm')).toBeUndefined();
    await dispatcher.drain(200);
  },
);

test('a paused trigger that was removed can be resumed, and the resume of an unknown trigger is an error', async () => {
  const store = new MemoryStore();
  const pauses = new Pauses();
  await pauses.pause(store, 'gone');
  const triggers = { get: () => undefined, mark: () => {} };
  const operator = new Operator({ triggers, store, pauses } as unknown as OperatorHost);
  expect(await operator.resume('gone')).toBeUndefined();
  expect([pauses.has('gone'), await store.keys('paused')]).toEqual([false, []]);
  await expect(operator.resume('gone')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' });
});

test('the errors of a trigger are shown without secrets', () => {
  const life = { state: 'failed', lastError: 'refused: hunter2-hunter2', retryAt: undefined };
  const counters = new TriggerCounters();
  counters.countRefused('deploy', { reason: 'wrong', text: 'hunter2-hunter2 is no signature' });
  const operator = new Operator({
    triggers: { get: () => manual, life: () => life },
    circuitOf: () => ({ state: 'open', since: 1, retryAt: 2, lastError: 'at hunter2-hunter2' }),
    pauses: new Pauses(),
    counters,
    gateway: { redactor: new Redactor(['hunter2-hunter2']), alarms: { has: () => false } },
  } as unknown as OperatorHost);
  expect(operator.trigger('deploy')).toMatchObject({
    state: 'failed',
    lastError: 'refused: [redacted]',
    circuit: { lastError: 'at [redacted]' },
    counts: { refused: { count: 1, reason: 'wrong', text: '[redacted] is no signature' } },
  });
});
