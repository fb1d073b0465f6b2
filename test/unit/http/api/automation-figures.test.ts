// Figures of the automation: a timeout limits the wait for the store, and concurrent requests share a query.

import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RunFeed } from '../../../../actors/agents/runs/feed.ts';
import type { RunningAutomation } from '../../../../actors/automation/running-automation.ts';
import type { DeliveryCounts } from '../../../../actors/store/delivery.ts';
import { agentTarget } from '../../../../config/resources/triggers/target.ts';
import { AutomationFigures } from '../../../../src/http/api/automation-figures.ts';

const counts: DeliveryCounts = { queued: 1, running: 2, retrying: 3, held: 4, waiting: 6, dead: 5 };
const queue = {
  active: 1,
  resting: 2,
  overruns: 0,
  places: 64,
  states: { ready: 2, handling: 1 },
  handled: 9,
  done: 5,
  ignored: 1,
  held: 0,
  deferred: 4,
  failed: 3,
  retried: 2,
  dead: 1,
  lost: 0,
  duration_ms: { p50: null, p95: 7 },
};
const other = { ...queue, active: 2, states: { ready: 1 }, duration_ms: { p50: 3, p95: 4 } };
const modelCalls = { active: 1, max: 256, waiting: 0 };
const flowNodes = { active: 2, max: 512, waiting: 3 };
const usage = { used: 1, max: 2, holders: [{ name: 'trigger orders', used: 1 }] };
const trigger = {
  trigger: { name: 'orders' },
  state: 'paused',
  isPaused: true,
  counts: { handled: 7, failed: 1, lastAt: 1 },
};

const answerRow = JSON.stringify({ kind: 'answer', usage: { input: 10, output: 3 }, cost: 0.5 });

function figuresOf(ask: () => Promise<DeliveryCounts>): AutomationFigures {
  const operator = {
    triggers: () => [trigger],
    counts: ask,
    usage: async () => ({ waiting: usage, parked: usage }),
  };
  const dispatcher = {
    limits: () => ({ 'deliveries.concurrency': usage }),
    stats: () => ({ conversations: queue, 'outbox/repohost': queue, 'outbox/botmessenger': other }),
    statsByParent: () => ({ conversations: [queue], outbox: [queue, other], runs: [other] }),
  };
  const feed = new RunFeed();
  const attempt = feed.begin('r1', agentTarget('oncall'));
  attempt.reportRows(1, [answerRow, JSON.stringify({ kind: 'called', id: 'c1' }), '{"kind":"result"}']);
  attempt.reportReply({ text: 'Fine.', effects: { steps: [answerRow] } });
  feed.begin('r2', agentTarget('oncall')).reportFailure();
  attempt.end();
  const targets = {
    loaded: { agents: [{ name: 'oncall' }], fleets: [{ name: 'oncall' }], flows: [] },
    slots: { modelCalls: { figures: modelCalls, usage }, flowNodes: { figures: flowNodes, usage } },
  };
  return new AutomationFigures({ operator, dispatcher, targets, feed } as unknown as RunningAutomation);
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('the statistics contain every trigger, the delivery counts and the current work', async () => {
  expect(await figuresOf(async () => counts).stats(1_000)).toEqual({
    triggers: {
      orders: {
        ...{ state: 'paused', paused: true, blocked_by: null },
        ...{ handled: 7, failed: 1, connection: null, circuit: null },
      },
    },
    agents: {
      oncall: {
        runs: 1,
        running: 1,
        failed: 1,
        iterations: 2,
        tool_calls: 1,
        input_tokens: 20,
        output_tokens: 6,
        cost: 1,
      },
    },
    fleets: {
      oncall: {
        runs: 0,
        running: 0,
        failed: 0,
        iterations: 0,
        tool_calls: 0,
        input_tokens: 0,
        output_tokens: 0,
        cost: 0,
      },
    },
    flows: {},
    deliveries: counts,
    limits: {
      'deliveries.max_waiting': usage,
      'deliveries.max_parked': usage,
      'deliveries.concurrency': usage,
      'limits.model_calls': usage,
      'limits.flow_nodes': usage,
    },
    slots: { model_calls: modelCalls, flow_nodes: flowNodes },
    conversations: queue,
    outbox: {
      active: 3,
      resting: 4,
      overruns: 0,
      places: 128,
      states: { ready: 3, handling: 1 },
      handled: 18,
      done: 10,
      ignored: 2,
      held: 0,
      deferred: 8,
      failed: 6,
      retried: 4,
      dead: 2,
      lost: 0,
      duration_ms: { p50: 3, p95: 7 },
    },
    platforms: { repohost: queue, botmessenger: other },
    // Further kinds of work are added.
    runs: other,
  });
  expect(vi.getTimerCount()).toBe(0);
});

test('an unresponsive store delays the statistics only until the deadline, and is queried once', async () => {
  let answer = (_: DeliveryCounts) => {};
  let queryCount = 0;
  const figures = figuresOf(() => {
    queryCount += 1;
    return new Promise((resolve) => {
      answer = resolve;
    });
  });
  const waiting = Promise.all(Array.from({ length: 100 }, () => figures.stats(1_000)));
  await vi.advanceTimersByTimeAsync(1_000);
  expect((await waiting).map(({ deliveries }) => deliveries)).toEqual(Array(100).fill(null));
  expect([queryCount, vi.getTimerCount(), figures.latestDeliveries]).toEqual([1, 0, null]);
  // The late response is used by the next request.
  const next = figures.deliveries(1_000);
  answer(counts);
  expect([await next, queryCount, figures.latestDeliveries]).toEqual([counts, 1, counts]);
});

test.each([
  ['rejects', () => Promise.reject(new Error('the disk is full'))],
  [
    'throws',
    () => {
      throw new Error('the store is not open');
    },
  ],
])('a store that %s yields no delivery counts, and is queried again later', async (_, fail) => {
  let isGood = false;
  const figures = figuresOf(() => (isGood ? Promise.resolve(counts) : fail()));
  expect(await figures.deliveries(1_000)).toBeNull();
  isGood = true;
  expect(await figures.deliveries(1_000)).toEqual(counts);
  expect(vi.getTimerCount()).toBe(0);
});
