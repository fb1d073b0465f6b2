// Runs with approvals, and a random sequence of the events that can happen between two steps: decisions,
// timeouts, cancels, reloads with other definitions, stops and kills of the built program.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  type RunRecord,
  requestMessages,
  runAt,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually, writeResources } from '../../fixtures/automation/automation.ts';
import { waitUntilIdle } from '../../fixtures/automation/killed.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';
import type { RecordedRequest } from '../../fixtures/models/protocols/protocol.ts';
import { seeded } from '../../fixtures/seeded.ts';

/** The order differs per run. To repeat a failed run, set the variable to the value in the test name. */
const seed = Number(process.env.ACTOR_GATEWAY_SEED ?? Date.now() % 100_000);
const nextRandom = seeded(seed);
const oneOf = <T>(list: readonly T[]): T | undefined => list[Math.floor(nextRandom() * list.length)];

/** Repetitions are the frequency. Stops and kills are rare, so that no run reaches the retry limit. */
const actions = [
  ...Array<'begin'>(10).fill('begin'),
  ...Array<'approve'>(10).fill('approve'),
  ...Array<'deny'>(3).fill('deny'),
  ...Array<'reload'>(4).fill('reload'),
  ...Array<'cancel'>(2).fill('cancel'),
  ...Array<'kill'>(3).fill('kill'),
  ...Array<'stop'>(2).fill('stop'),
] as const;
const LONGEST_PAUSE_MS = 120;
/** Expiry of the approvals of the agent `hasty`: about the length of two events. */
const HASTY_SECONDS = 0.3;

let model: ModelServer;
let reportedCalls: ReportedCalls;
let gateway: GatewayProcess;
let definition = 1;
let gatewayEnds = 0;

const inputsById = new Map<string, string>();
/** Number of model requests and tool calls of the run when it was cancelled, by input. */
const countWhenCancelled = new Map<string, number>();

const receivedAt = new Map<RecordedRequest, number>();

const inputOf = (request: RecordedRequest) =>
  requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
const requestsFor = (input: string) => model.requests.filter((each) => inputOf(each) === input);
const callsFor = (input: string) => reportedCalls.calls.filter(({ args }) => args.for === input);
const countFor = (input: string) => requestsFor(input).length + callsFor(input).length;

beforeAll(async () => {
  reportedCalls = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    receivedAt.set(request, Date.now());
    const input = inputOf(request);
    const pay = (n: number) => ({ name: 'pay', input: { for: input, n } });
    const delayMs = Math.floor(nextRandom() * 40);
    switch (answersSoFar(request)) {
      case 0:
        return { calls: [{ name: 'look', input: { for: input } }, pay(1)], delayMs };
      case 1:
        return { calls: [pay(2), pay(3)], delayMs };
      default:
        return { text: `The end of ${input}.`, delayMs };
    }
  });
});

afterAll(async () => {
  reportedCalls[Symbol.dispose]();
});

function resources() {
  const clerk = (name: string, policy: object) =>
    agent(name, {
      model: MODEL,
      mcp_servers: [reportedCalls.entry('desk')],
      system_prompt: `By definition ${definition}.`,
      policy: { ask: ['pay'], approvers: ['boss'], ...policy },
    });
  return [clerk('clerk', {}), clerk('hasty', { approval_timeout_seconds: HASTY_SECONDS })];
}

const post = (path: string, body: object = {}) =>
  ask(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const pendingApprovals = async (): Promise<readonly { readonly id: string }[]> =>
  (await ask(`${gateway.url}/approvals?state=pending`)).json.approvals;

async function perform(action: (typeof actions)[number]): Promise<void> {
  if (action === 'begin') {
    const input = `run ${inputsById.size}`;
    const { status, json } = await post(`/agents/${oneOf(['clerk', 'hasty'])}/runs`, { input: input });
    expect(status).toBe(202);
    inputsById.set(input, json.id);
  } else if (action === 'approve' || action === 'deny') {
    const approval = oneOf(await pendingApprovals());
    // The approval can expire meanwhile.
    if (approval !== undefined)
      expect((await post(`/approvals/${approval.id}/${action}`)).status).toBeOneOf([200, 409]);
  } else if (action === 'reload') {
    definition += 1;
    writeResources(gateway.folder, resources());
    expect((await post('/admin/reload')).status).toBe(200);
  } else if (action === 'cancel') await cancel();
  else {
    gatewayEnds += 1;
    await gateway.stop(action === 'kill' ? 'SIGKILL' : 'SIGTERM');
    gateway = await startModelGateway(model, { folder: gateway.folder });
  }
}

async function cancel(): Promise<void> {
  const [input, id] = oneOf([...inputsById]) ?? [];
  if (input === undefined || id === undefined) return;
  const { status } = await post(`/runs/${encodeURIComponent(id)}/cancel`);
  if (status !== 200) return;
  let isCancelled = false;
  await eventually(async () => {
    const { json } = await ask(`${gateway.url}/deliveries/${encodeURIComponent(id)}`);
    expect(json.state).toBeOneOf(['ignored', 'done']);
    isCancelled = json.state === 'ignored';
  });
  // Model requests and tool calls that were sent before the cancellation may arrive only now.
  await sleep(300);
  if (isCancelled) countWhenCancelled.set(input, countFor(input));
}

/** Approves all pending approvals until no run is active. */
async function settle(): Promise<void> {
  await eventually(async () => {
    for (const { id } of await pendingApprovals()) await post(`/approvals/${id}/approve`);
    expect((await ask(`${gateway.url}/stats`)).json.deliveries).toMatchObject({
      queued: 0,
      running: 0,
      retrying: 0,
      waiting: 0,
    });
  });
  await waitUntilIdle(gateway);
}

const stepsOf = ({ steps }: RunRecord, kind: string) => steps.filter((each) => each.kind === kind);

/**
 * Checks that all model requests of the run have the system prompt of one definition. A request that was sent
 * before the first row of the run was stored may have another one: a new attempt starts the run again.
 */
function checkDefinition(input: string, run: RunRecord): void {
  const begunAt = new Date(stepsOf(run, 'begun')[0]?.at as string).getTime();
  const systemPromptOf = (each: RecordedRequest) => requestMessages(each)[0]?.content;
  const own = systemPromptOf(requestsFor(input).at(-1) as RecordedRequest);
  for (const each of requestsFor(input))
    if (systemPromptOf(each) !== own)
      expect([input, answersSoFar(each), (receivedAt.get(each) ?? 0) <= begunAt]).toEqual([input, 0, true]);
}

function checkCalls(input: string, run: RunRecord): void {
  const callsByApproval = new Map(stepsOf(run, 'asked').map(({ approval, call }) => [approval, call]));
  const approved = stepsOf(run, 'decided')
    .filter(({ state }) => state === 'approved')
    .map(({ approval }) => callsByApproval.get(approval));
  const keysByCall = new Map<string, Set<string>>();
  for (const { tool, args, key } of callsFor(input)) {
    const call = `${tool} ${JSON.stringify(args)}`;
    keysByCall.set(call, (keysByCall.get(call) ?? new Set()).add(key));
    // Only approved payments are made.
    if (tool === 'pay')
      expect([input, approved]).toEqual([input, expect.arrayContaining([key.split('/').at(-1)])]);
  }
  for (const [call, keys] of keysByCall) expect([input, call, keys.size]).toEqual([input, call, 1]);
  // No payment is repeated, because the model is notified of calls with an unknown outcome.
  const payments = callsFor(input).filter(({ tool }) => tool === 'pay');
  expect([input, payments.length]).toEqual([input, new Set(payments.map(({ key }) => key)).size]);
}

test(`an agent run with random kills and reloads makes each step once, and only approved payments (ACTOR_GATEWAY_SEED=${seed})`, async () => {
  gateway = await startModelGateway(model, { resources: resources() });
  const order = actions
    .map((action) => ({ action, position: nextRandom() }))
    .sort((a, b) => a.position - b.position);
  for (const { action } of order) {
    await perform(action);
    await sleep(nextRandom() * LONGEST_PAUSE_MS);
  }
  await settle();

  let mostRepetitions = 0;
  for (const [input, id] of inputsById) {
    const isCancelled = countWhenCancelled.has(input);
    if (isCancelled) expect([input, countFor(input)]).toEqual([input, countWhenCancelled.get(input)]);
    const run = await runAt(gateway, id);
    // A run cancelled before the first row.
    if (isCancelled && (run.steps ?? []).length === 0) continue;
    expect([input, run.state]).toEqual([input, isCancelled ? 'cancelled' : 'done']);
    if (!isCancelled) expect(run).toMatchObject({ answer: `The end of ${input}.`, usage: { iterations: 3 } });
    expect([input, stepsOf(run, 'begun').length]).toEqual([input, 1]);
    expect([input, stepsOf(run, 'ended').length]).toEqual([input, isCancelled ? 0 : 1]);
    const iterations = stepsOf(run, 'answer').map(({ iteration }) => iteration);
    expect([input, iterations]).toEqual([input, [1, 2, 3].slice(0, iterations.length)]);
    checkDefinition(input, run);
    for (const n of [0, 1, 2]) {
      const times = requestsFor(input).filter((each) => answersSoFar(each) === n).length;
      mostRepetitions = Math.max(mostRepetitions, times - 1);
    }
    checkCalls(input, run);
  }
  // Only a stop or a kill causes a repeated model request.
  expect(mostRepetitions).toBeLessThanOrEqual(gatewayEnds);
  expect(await pendingApprovals()).toEqual([]);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  await gateway.stop();
});
