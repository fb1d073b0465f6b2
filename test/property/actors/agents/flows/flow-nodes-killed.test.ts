// A flow with external effects and waits (HTTP request, tool, approval, wait, Response) in processes that are
// killed at random commits. No effect has two keys, and an effect that may have happened is repeated only if
// that is harmless.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf } from '../../../../../actors/agents/approvals/record.ts';
import type { ApprovalOutcome, RunApprovals } from '../../../../../actors/agents/approvals/run-approvals.ts';
import { FlowHandler } from '../../../../../actors/agents/flows/handler.ts';
import { HandlerError } from '../../../../../actors/agents/handlers/handler.ts';
import { isParked } from '../../../../../actors/agents/handlers/parked.ts';
import type { InProcessClient } from '../../../../../actors/mcp/clients/in-process-client.ts';
import type { NewEvent } from '../../../../../actors/store/event.ts';
import type { Flow } from '../../../../../config/resources/flows/flow.ts';
import { freeSlots } from '../../../../fixtures/agents/free-slots.ts';
import { flowOf } from '../../../../fixtures/automation/flow-files.ts';
import { aJob } from '../../../../fixtures/automation/jobs.ts';
import { KillableRun, ProcessKilled } from '../../../../fixtures/automation/killable-run.ts';
import { runs } from '../../../../fixtures/property-runs.ts';

/** Number of HTTP requests by idempotency key. */
let requestCounts = new Map<string, number>();
const server = createServer((request, response) => {
  const key = String(request.headers['idempotency-key']);
  const count = (requestCounts.get(key) ?? 0) + 1;
  requestCounts.set(key, count);
  request.resume();
  // The first request per key fails with 503.
  const status = count === 1 ? 503 : 200;
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ count }));
});
let flow: Flow;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  // After the approval, `ship` sends an HTTP request. Then `pay` (not repeatable) and `look` (read-only) run.
  // If the outcome of `pay` is unknown after a kill, `unsure` runs instead of `paid`.
  flow = await flowOf(`  nodes:
    - { id: ask, type: Approval, config: { message: "Ship {{ input }}?", approvers: [ada] } }
    - { id: ship, type: HTTP, retry: { attempts: 5, min_backoff_seconds: 0.001, max_backoff_seconds: 0.001 }, config: { method: POST, url: "http://127.0.0.1:${port}/ship", body: { what: "{{ input }}" } } }
    - { id: pay, type: Tool, config: { server: bank, tool: pay, arguments: { sum: 3 } }, on_error: unsure }
    - { id: look, type: Tool, config: { server: bank, tool: look } }
    - { id: unsure, type: Response, config: { text: "{{ steps.pay.error }}" } }
    - { id: paid, type: Response, config: { text: "paid" } }
    - { id: shipped, type: Response, config: { text: "shipped {{ steps.ship.output.status }} by {{ steps.ask.output.by }}" } }
    - { id: soak, type: Wait, config: { seconds: 0.001 } }
    - { id: end, type: End, config: { output: "{{ steps.look.output.text }}" } }
  connections:
    - { from: ask, to: ship, when: approved }
    - { from: ship, to: shipped }
    - { from: ship, to: pay }
    - { from: ship, to: look }
    - { from: pay, to: paid }
    - { from: look, to: soak }
    - { from: unsure, to: end }
    - { from: paid, to: end }
    - { from: shipped, to: end }
    - { from: soak, to: end }
`);
});

afterAll(() => new Promise((resolve) => server.close(resolve)));

it('flow calls keep one idempotency key, and approvals and messages occur once, wherever the process is killed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 8 }),
      async (commitsBeforeKills) => {
        requestCounts = new Map();
        const run = new KillableRun();
        const outcomes = new Map<string, ApprovalOutcome>();
        const calls: { readonly tool: string; readonly key: string }[] = [];
        const messagesByKey = new Map<string, string>();
        const approvals: RunApprovals = {
          ask: async (request) => {
            const id = `approval-${outcomes.size + 1}`;
            const rest = { by: 'ada', comment: undefined, expiresInMs: undefined, agent: 'f' };
            outcomes.set(id, { state: 'pending', digest: digestOf(request), ...rest });
            return {
              id,
              effects: { asks: [{ id } as never] },
              expiresInMs: undefined,
              approverText: undefined as never,
            };
          },
          // An approval request exists only if the commit that stores it happened.
          outcome: async (id) =>
            run.committedEffects.some(({ asks = [] }) => asks.some((each) => each.id === id))
              ? outcomes.get(id)
              : undefined,
        };
        const tools = {
          callTool: async (tool: string, _args: unknown, { key }: { readonly key: string }) => {
            calls.push({ tool, key });
            await new Promise((resolve) => setImmediate(resolve));
            return { content: [{ type: 'text', text: `${tool} done` }] };
          },
          listTools: async () => [{ name: 'look', annotations: { readOnlyHint: true } }, { name: 'pay' }],
        } as unknown as InProcessClient;
        const handler = new FlowHandler(flow, {
          slots: freeSlots,
          handlerOf: () => undefined,
          readDefinition: async () => flow,
        });
        // A step's repeated message has the same text.
        const messages = {
          canSend: true,
          rows: async (text: string, step: string) => {
            expect([undefined, text]).toContain(messagesByKey.get(step));
            messagesByKey.set(step, text);
            return [{ id: step } as NewEvent];
          },
        };
        const remainingKills = [...commitsBeforeKills];
        // Repeats attempts until the flow completes. An attempt is killed, suspends, or replies.
        for (let attempt = 0; ; attempt += 1) {
          expect(attempt).toBeLessThan(100);
          run.killedAtCommit = run.commits + (remainingKills.shift() ?? Number.POSITIVE_INFINITY);
          try {
            const reply = await run.attempt(handler, aJob({ input: '1.2' }), {
              approvals,
              tools,
              messages,
            });
            if (!isParked(reply)) {
              expect(reply.data).toBe('look done');
              break;
            }
            // The flow is parked (it waits in the store) for approvals. All pending requests are approved.
            for (const [id, outcome] of outcomes) outcomes.set(id, { ...outcome, state: 'approved' });
            await new Promise((resolve) => setTimeout(resolve, Math.min(reply.wakeInMs ?? 0, 2)));
          } catch (error) {
            expect(error).toBeInstanceOf(ProcessKilled);
            // Calls that the killed process has started can still run in the test. They get time to end.
            await new Promise((resolve) => setTimeout(resolve, 3));
          }
        }
        // All HTTP requests have the same key, `pay` is called at most once, and every tool has one key.
        expect(requestCounts.size).toBe(1);
        expect(calls.filter(({ tool }) => tool === 'pay').length).toBeLessThanOrEqual(1);
        const calledTools = new Set(calls.map(({ tool }) => tool));
        const callsWithKeys = new Set(calls.map(({ tool, key }) => `${tool} ${key}`));
        expect(callsWithKeys.size).toBe(calledTools.size);
        const texts = [...messagesByKey.values()];
        expect(texts).toContain('shipped 200 by ada');
        const isPaid = texts.includes('paid');
        expect(texts.some((text) => text.includes('may have happened'))).toBe(!isPaid);
        // The messages are `shipped`, and either `paid` or `unsure`. No message is emitted twice.
        const emittedIds = run.committedEffects.flatMap(({ emit = [] }) => emit.map(({ id }) => id));
        expect(new Set(emittedIds).size).toBe(emittedIds.length);
        expect(emittedIds.length).toBe(2);
        expect(run.committedEffects.flatMap(({ asks = [] }) => asks).length).toBe(1);
      },
    ),
    { numRuns: runs(60) },
  );
});

it('a retried flow continues at the failed node, also in a loop, and repeats nothing before it', async () => {
  const failing = await flowOf(`  nodes:
    - { id: first, type: Agent, config: { agent: a } }
    - id: each
      type: Loop
      config:
        over: "[1, 2]"
        nodes:
          - { id: one, type: Agent, config: { agent: "b" } }
    - { id: answer, type: Response, config: { text: "{{ steps.each.output.results[1].text }}" } }
  connections: [{ from: first, to: each }, { from: each, to: answer }]
`);
  const run = new KillableRun();
  const attemptedPaths: string[] = [];
  let isBroken = true;
  const handler = new FlowHandler(failing, {
    slots: freeSlots,
    handlerOf: () => ({
      run: async ({ idempotencyKey }) => {
        // A key contains the key of the job (x/y), a nonce and the path of the node.
        const nodePath = idempotencyKey.split('/').slice(3).join('/');
        attemptedPaths.push(nodePath);
        if (nodePath.startsWith('each#2') && isBroken) throw new HandlerError('broken', { isFinal: true });
        return { text: nodePath };
      },
    }),
    readDefinition: async () => failing,
  });
  const job = aJob({ idempotencyKey: 'x/y' });
  for (let attempt = 1; attempt <= 2; attempt += 1)
    await expect(run.attempt(handler, job)).rejects.toThrow('flow f: each: each#2/one: broken');
  isBroken = false;
  expect(await run.attempt(handler, job)).toMatchObject({ text: 'each#2/one', data: null });
  expect(attemptedPaths).toEqual(['first', 'each#1/one', 'each#2/one', 'each#2/one', 'each#2/one']);
});

it('a flow fails after timeout_seconds, including waits and restarts, and reports its position', async () => {
  const waiting = await flowOf(`  timeout_seconds: 0.6
  nodes: [{ id: soak, type: Wait, config: { seconds: 60 } }]
`);
  const handler = new FlowHandler(waiting, {
    slots: freeSlots,
    handlerOf: () => undefined,
    readDefinition: async () => waiting,
  });
  const run = new KillableRun();
  const first = await run.attempt(handler, aJob());
  expect(isParked(first) && first.wakeInMs).toBeLessThanOrEqual(600);
  // After 300 of the 600 ms, at most 301 remain: timers may fire 1 ms early.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const second = await run.attempt(handler, aJob());
  expect(isParked(second) && second.wakeInMs).toBeLessThanOrEqual(301);
  // Simulates a clock set back by an hour: the remaining time does not change.
  const state = JSON.parse(run.state ?? '{}') as { at: number };
  run.state = JSON.stringify({ ...state, at: state.at + 3_600_000 });
  const third = await run.attempt(handler, aJob());
  expect(isParked(third) && third.wakeInMs).toBeLessThanOrEqual(301);
  await new Promise((resolve) => setTimeout(resolve, 320));
  await expect(run.attempt(handler, aJob())).rejects.toThrow(
    'flow f has not ended within timeout_seconds (0.6), including waits; it was at soak',
  );
});

it('the timeout of a flow aborts its running nodes', async () => {
  const slow = await flowOf(`  timeout_seconds: 0.05
  nodes: [{ id: think, type: Agent, config: { agent: a } }]
`);
  let isStopped = false;
  const handler = new FlowHandler(slow, {
    slots: freeSlots,
    handlerOf: () => ({
      run: (_job, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            isStopped = true;
            reject(signal.reason);
          });
        }),
    }),
    readDefinition: async () => slow,
  });
  await expect(new KillableRun().attempt(handler, aJob())).rejects.toMatchObject({
    isFinal: true,
    message: expect.stringContaining('it was at think'),
  });
  expect(isStopped).toBe(true);
});

it('parallel nodes that become ready at the same time start once each', async () => {
  const ids = Array.from({ length: 40 }, (_, n) => `n${n}`);
  const parallelFlow = await flowOf(`  nodes:
    - { id: first, type: Parallel }
${ids.map((id) => `    - { id: ${id}, type: Agent, config: { agent: a } }`).join('\n')}
  connections: [${ids.map((id) => `{ from: first, to: ${id} }`).join(', ')}]
`);
  const startedKeys: string[] = [];
  const handler = new FlowHandler(parallelFlow, {
    slots: freeSlots,
    handlerOf: () => ({
      run: async ({ idempotencyKey }) => {
        startedKeys.push(idempotencyKey);
        return { text: '' };
      },
    }),
    readDefinition: async () => parallelFlow,
  });
  await new KillableRun().attempt(handler, aJob());
  expect(startedKeys.length).toBe(40);
});

it('a loop continues while its condition is true for the output of the previous iteration', async () => {
  const polling = await flowOf(`  nodes:
    - id: poll
      type: Loop
      config:
        while: "last == null || !last.data.ready"
        nodes: [{ id: look, type: Agent, config: { agent: a, input: "{{ index }}" } }]
    - { id: end, type: End, config: { output: "{{ steps.poll.output.count }}" } }
  connections: [{ from: poll, to: end }]
`);
  const handler = new FlowHandler(polling, {
    slots: freeSlots,
    handlerOf: () => ({ run: async ({ input }) => ({ text: input, data: { ready: input === '2' } }) }),
    readDefinition: async () => polling,
  });
  // Iterations 0, 1 and 2. The output of iteration 2 ends the loop.
  expect(await new KillableRun().attempt(handler, aJob())).toMatchObject({ data: 3 });
});
