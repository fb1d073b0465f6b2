// Memory of runs: a waiting or completed run retains no objects. Counts objects like whole/memory-growth.

import { expect, test } from 'vitest';
import {
  MODEL,
  requestMessages,
  requestToolResults,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import { runConcurrently } from '../../fixtures/clients/crowd.ts';
import { grownSince, heapCensus } from '../../fixtures/gateway/heap-census.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import { fault, signsOfBugs } from '../../fixtures/server/fault-servers.ts';

const TIMES = 40;
const AT_ONCE = 12;
/** Causes more than 250 model requests, because Node retains the timings of the last 250. */
const BEFORE = AT_ONCE * 3;
const TOLERANCE = TIMES / 4;

/** Each starts a run in a new conversation and resolves when the run is waiting or complete. */
const jobs = [
  'waits',
  'answers',
  'is approved',
  'is denied',
  'is cancelled while it waits',
  'fails',
] as const;

test(`${TIMES} agent runs that wait for an approval, and as many completed runs, leave no objects on the heap`, async () => {
  await using model = (await ModelServer.start()).answerWith((request) => {
    const words = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    if (words === 'fails') return { status: 400, message: 'no' };
    if (words === 'answers' || requestToolResults(request).length > 0) return { text: 'That is all.' };
    return { calls: [{ name: 'echo', input: { a: words } }] };
  });
  const census = heapCensus();
  const gateway = await startModelGateway(model, {
    env: census.env,
    resources: [
      agent('clerk', {
        model: MODEL,
        mcp_servers: [{ name: 'desk', ...fault('echo') }],
        policy: { ask: ['*'] },
      }),
    ],
  });
  const post = async (path: string, body: object = {}) => {
    const headers = { 'content-type': 'application/json' };
    return ask(`${gateway.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  };
  const run = async (input: (typeof jobs)[number]) => {
    const { json } = await post('/agents/clerk/runs', { input, wait_seconds: 30 });
    const id = encodeURIComponent(json.id as string);
    const now = async () => (await ask(`${gateway.url}/runs/${id}`)).json;
    const first = { answers: 'done', fails: 'failed' }[input as string] ?? 'waiting';
    expect(json.state).toBe(first);
    if (first !== 'waiting' || input === 'waits') return;
    const { steps } = await now();
    const approvalStep = (steps as { kind: string; approval: string }[]).find(({ kind }) => kind === 'asked');
    const path = input.includes('cancelled')
      ? `/runs/${id}/cancel`
      : `/approvals/${approvalStep?.approval}/${input === 'is denied' ? 'deny' : 'approve'}`;
    expect((await post(path)).status).toBe(200);
    const end = input.includes('cancelled') ? 'cancelled' : 'done';
    await eventually(async () => expect((await now()).state).toBe(end));
  };
  const everything = async (times: number) => {
    for (const job of jobs) await runConcurrently(times, AT_ONCE, () => run(job));
  };
  const stats = async () => (await ask(`${gateway.url}/stats`)).json;
  const counts = async () => {
    await eventually(async () =>
      expect((await stats()).conversations).toMatchObject({ active: 0, resting: 0 }),
    );
    return census.count(gateway);
  };
  // The first runs create permanent objects: the tool server, connections, loaded code.
  await everything(BEFORE);
  const before = await counts();
  await everything(TIMES);
  expect((await stats()).deliveries.waiting).toBe(BEFORE + TIMES);
  expect(await grownSince(before, counts, TOLERANCE)).toEqual({});
  expect(gateway.text()).not.toMatch(signsOfBugs);
  expect(await gateway.stop()).toBe(0);
});
