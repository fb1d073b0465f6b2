// How long a handler may take.

import { expect, test } from 'vitest';
import { ConversationWork, type Routing } from '../../../../actors/automation/conversation-work.ts';
import { timeLimit } from '../../../../actors/automation/time-limit.ts';
import type { Handler } from '../../../../actors/handlers/handler.ts';
import type { Adapter } from '../../../../actors/sources/adapter.ts';
import { manualAdapter } from '../../../../actors/sources/manual/manual-adapter.ts';
import { manualEvent } from '../../../../actors/sources/manual/manual-event.ts';
import type { ManualTrigger } from '../../../../config/resources/trigger.ts';
import { manualTrigger } from '../../../fixtures/triggers.ts';

const run = { command: '', input: {}, text: 'go', isConfirmed: true };

/** A work with one trigger and one handler, and an event for both. */
function bench(trigger: ManualTrigger, handler: Handler) {
  const routing: Routing = {
    adapterOf: () => manualAdapter as Adapter,
    trigger: () => trigger,
    isPaused: () => false,
    onHeld: () => {},
    handlerOf: () => handler,
    count: () => {},
    longestTimeoutMs: 60_000,
  };
  const event = { ...manualEvent(trigger, run, '1', ''), seq: 1, at: 0 };
  const { signal } = new AbortController();
  const work = new ConversationWork(routing);
  return {
    perform: (attempt = 1) => work.perform({ event: { ...event, attempt }, snapshot: undefined, signal }),
  };
}

/** Has no answer, and ends when it is told to. */
const endless: Handler = {
  run: (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
};

test('a run by hand ends with its own timeout, not with that of other triggers', async () => {
  const trigger = manualTrigger('deploy', { timeout: 0.05 });
  const { perform } = bench(trigger, endless);
  expect(await perform()).toMatchObject({ kind: 'failed', note: 'no answer within timeout (0.05)' });
  expect(timeLimit(manualTrigger('deploy'))).toEqual({ seconds: 60, field: 'timeout_seconds' });
});

test('an event whose attempts all ended with the process is dead, and is not tried once more', async () => {
  const trigger = manualTrigger('deploy');
  let runs = 0;
  const handler: Handler = {
    run: async () => {
      runs += 1;
      return { text: '' };
    },
  };
  const { perform } = bench(trigger, handler);
  expect(await perform(trigger.retry.attempts)).toMatchObject({ kind: 'done' });
  expect(await perform(trigger.retry.attempts + 1)).toMatchObject({ kind: 'failed', isFinal: true });
  expect(runs).toBe(1);
});
