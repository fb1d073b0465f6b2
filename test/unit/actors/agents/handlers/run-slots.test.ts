// Steps of runs without a free slot: a flow node and a member of a fleet park, and the event of an agent is
// deferred. They have begun nothing, and continue with a slot.

import { expect, test } from 'vitest';
import { FleetHandler } from '../../../../../actors/agents/fleets/handler.ts';
import { FlowHandler } from '../../../../../actors/agents/flows/handler.ts';
import { type Handler, HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { acquireSlot, NoSlotError, runSlots } from '../../../../../actors/agents/handlers/run-slots.ts';
import type { Fleet } from '../../../../../config/resources/fleets/fleet.ts';
import { AgentWorld, aRuntime, modelAnswer } from '../../../../fixtures/agents/agent-world.ts';
import { aContext } from '../../../../fixtures/automation/contexts.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun } from '../../../../fixtures/automation/killable-run.ts';

const LIMITS = { model_calls: 1, flow_nodes: 1 };
/** Waits for a slot for half of this time. */
const REMAINING_MS = 40;
/** Longer than the pause before the next try. */
const LATER_MS = 60_000;

/** Slots whose only slot is taken by another trigger. */
async function takenSlots() {
  const slots = runSlots(LIMITS);
  const other = { trigger: 'other', agent: 'other' };
  const releases = await Promise.all([
    acquireSlot(slots, 'modelCalls', other, aContext()),
    acquireSlot(slots, 'flowNodes', other, aContext()),
  ]);
  const free = () => {
    for (const release of releases) release();
  };
  return { slots, free };
}

const later = { clock: { now: () => Date.now() + LATER_MS, steady: () => Date.now() + LATER_MS } };

test('a flow node without a slot parks its run, and continues without counting an attempt', async () => {
  const { slots, free } = await takenSlots();
  const flow =
    await flowOf(`  nodes: [{ id: one, type: Agent, config: { agent: a } }, { id: wait, type: Wait, config: { seconds: 0 } }]
  connections: [{ from: one, to: wait }]
`);
  const calls: boolean[] = [];
  const agent: Handler = {
    run: async (_job, { waker }) => {
      calls.push(waker !== undefined);
      return { text: 'done' };
    },
  };
  const handler = new FlowHandler(flow, { slots, handlerOf: () => agent, readDefinition: async () => flow });
  const run = new KillableRun();
  const reports: string[] = [];
  const reportRetry = (reason: string) => void reports.push(reason);
  expect(await run.attempt(handler, aJob(), { remainingMs: REMAINING_MS, reportRetry })).toMatchObject({
    parkedOn: expect.stringMatching(/^time /),
    wakeInMs: expect.any(Number),
    note: 'waits at one',
  });
  expect(reports).toEqual(['a flow node waits for a slot (limits.flow_nodes)']);
  expect(run.rows.at(-1)).toMatchObject({ kind: 'parked', in: 'one', isForSlot: true, isForPeople: false });
  expect(slots.flowNodes.figures.waiting).toBe(0);

  free();
  const waker = { id: 't', kind: 'timer', meta: '', body: new Uint8Array() };
  expect(await run.attempt(handler, aJob(), { ...later, waker })).toMatchObject({ data: null });
  // The node has waited for nothing but the slot.
  expect(calls).toEqual([false]);
  expect(run.rows.filter(({ kind }) => kind === 'again')).toEqual([]);
  expect(slots.flowNodes.figures).toEqual({ in_flight: 0, waiting: 0, limit: 1 });
});

test('a node that fails frees its slot', async () => {
  const slots = runSlots(LIMITS);
  const flow = await flowOf(`  nodes: [{ id: one, type: Agent, config: { agent: a } }]\n`);
  const agent: Handler = { run: async () => Promise.reject(new HandlerError('broken', { isFinal: true })) };
  const handler = new FlowHandler(flow, { slots, handlerOf: () => agent, readDefinition: async () => flow });
  await expect(new KillableRun().attempt(handler, aJob())).rejects.toThrow('broken');
  expect(slots.flowNodes.figures.in_flight).toBe(0);
});

test('a member of a fleet without a slot parks, and its fleet answers later', async () => {
  const { slots, free } = await takenSlots();
  const fleet: Fleet = {
    ...{
      name: 'f',
      file: '/f.yaml',
      hash: '',
      description: undefined,
      timeout_seconds: 60,
      definition: '{}',
    },
    members: [
      { name: 'one', agent: 'one', description: undefined, weight: 1_000, isManager: false, tier: 1 },
    ],
    coordination: { mode: 'pipeline' },
    on_failure: 'fail',
    budget: { tokens: undefined, tool_calls: undefined, cost: undefined },
    concurrency: 1,
  };
  const member: Handler = {
    run: async (job, context) => {
      (await acquireSlot(slots, 'modelCalls', job, context))();
      return { text: 'done' };
    },
  };
  const handler = new FleetHandler(fleet, { handlerOf: () => member, readDefinition: async () => fleet });
  const run = new KillableRun();
  expect(await run.attempt(handler, aJob(), { remainingMs: REMAINING_MS })).toMatchObject({
    note: 'members wait',
    wakeInMs: expect.any(Number),
  });
  free();
  expect(await run.attempt(handler, aJob(), later)).toMatchObject({ text: 'done' });
});

test('an agent without a slot makes no request, is deferred, and does not count the wait as working time', async () => {
  const { slots, free } = await takenSlots();
  const world = new AgentWorld({ slots, runtime: aRuntime(), answer: () => modelAnswer('done') });
  const waitMs = 300;
  const error = await world.attempt({ remainingMs: 2 * waitMs }).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(NoSlotError);
  expect(error).toMatchObject({ isFinal: false, isRateLimited: true, retryAfterMs: expect.any(Number) });
  expect(String(error)).toBe(
    'NoSlotError: no slot was free for a model call: 1 of 1 are in use, 1 by trigger other (limits.model_calls)',
  );
  expect(world.modelRequests).toEqual([]);
  free();
  expect(await world.attempt()).toMatchObject({ text: 'done' });
  expect(JSON.parse(world.note?.figures ?? '{}').worked_ms).toBeLessThan(waitMs);
  expect(slots.modelCalls.figures).toEqual({ in_flight: 0, waiting: 0, limit: 1 });
});

test('steps that become ready together begin in different turns of the event loop', async () => {
  const slots = runSlots({ model_calls: 20, flow_nodes: 20 });
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  count();
  const turns = await Promise.all(
    Array.from({ length: 10 }, async (_, n) => {
      await acquireSlot(slots, 'modelCalls', aJob({ agent: `a${n}` }), aContext());
      return turn;
    }),
  );
  isOver = true;
  expect(new Set(turns).size).toBe(10);
});
