// An agent that needs approval before it calls a tool with effects, with the built program and a real server
// that reports each call. The call is made once, after the approval, with exactly the approved arguments.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  MODEL,
  type RunRecord,
  requestMessages,
  requestToolResults,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

/** Arguments of the model for a payment; non-ASCII text is approved unchanged. */
const argumentsFor = (words: string) => ({ for: words, amount: 12.5, to: ['Zoë', { iban: 'DE02 1203' }] });

let model: ModelServer;
let reportedCalls: ReportedCalls;
let gateway: GatewayProcess;

beforeAll(async () => {
  reportedCalls = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    if (words === 'hello') return { text: 'Hello.' };
    if (answersSoFar(request) > 0) return { text: `told: ${requestToolResults(request).join(' | ')}` };
    const input = argumentsFor(words);
    const pay = { name: 'pay', input };
    if (words === 'both') return { calls: [pay, { name: 'pay', input: { ...input, amount: 99 } }] };
    return { calls: [{ name: 'look', input: { for: words } }, pay] };
  });
  const clerk = (name: string, policy: object) =>
    agent(name, {
      model: MODEL,
      mcp_servers: [reportedCalls.entry('desk')],
      policy: { ask: ['pay'], ...policy },
    });
  gateway = await startModelGateway(model, {
    resources: [
      clerk('clerk', { approvers: ['ada', '@ben'] }),
      clerk('owner', { approvers: ['ada'], self_approval: true }),
      clerk('hasty', { approvers: ['ada'], approval_timeout_seconds: 0.5 }),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
  reportedCalls[Symbol.dispose]();
});

const post = (path: string, body: object = {}) =>
  ask(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

interface PendingRun {
  readonly run: string;
  /** Ids of the approvals, in the order of the calls. */
  readonly ids: readonly string[];
}

const sessionOf = (words: string) => words.replaceAll(' ', '-');

/** Starts a run and resolves when the approvals are pending. */
async function startAndWait(input: string, name = 'clerk', user = 'mia'): Promise<PendingRun> {
  const { json } = await post(`/agents/${name}/runs`, {
    input,
    user,
    session: sessionOf(input),
    wait_seconds: 20,
  });
  expect(json).toMatchObject({ state: 'waiting', waiting_for: 'approval' });
  const { steps } = (await ask(`${gateway.url}/runs/${encodeURIComponent(json.id)}`)).json as RunRecord;
  const ids = steps.filter(({ kind }) => kind === 'asked').map(({ approval }) => String(approval));
  return { run: json.id, ids };
}

const decide = (id: string | undefined, verb: 'approve' | 'deny', body: object = {}) =>
  post(`/approvals/${id}/${verb}`, body);
const callsFor = (words: string, tool = 'pay') =>
  reportedCalls.calls.filter((call) => call.tool === tool && call.args.for === words);
const answerOf = async (run: string) => (await expectRunState(gateway, run, 'done')).answer;

test('an approved call is made once, exactly as requested, and a run that waits for approval blocks no other run', async () => {
  const { run, ids } = await startAndWait('the rent');
  expect(ids).toHaveLength(1);
  // Calls without approval were made immediately.
  expect(callsFor('the rent', 'look')).toHaveLength(1);
  const waiting = (await ask(`${gateway.url}/runs?state=waiting&agent=clerk`)).json.runs;
  expect(waiting).toContainEqual(expect.objectContaining({ id: run, waiting_for: 'approval' }));
  const delivery = (await ask(`${gateway.url}/deliveries/${encodeURIComponent(run)}`)).json;
  expect(delivery).toMatchObject({ state: 'waiting', attempts: 0 });
  expect(await ask(`${gateway.url}/approvals/${ids[0]}`)).toMatchObject({
    json: {
      run,
      kind: 'tool',
      title: 'desk/pay',
      state: 'pending',
      approvers: ['ada', '@ben'],
      tool: { server: 'desk', tool: 'pay', arguments: argumentsFor('the rent') },
      requested_by: { platform: 'manual', user: 'mia' },
    },
  });
  // Same conversation.
  const meanwhile = await post('/agents/clerk/runs', {
    input: 'hello',
    session: sessionOf('the rent'),
    wait_seconds: 20,
  });
  expect(meanwhile.json).toMatchObject({ state: 'done', answer: 'Hello.' });
  expect(callsFor('the rent')).toEqual([]);
  expect((await decide(ids[0], 'approve')).status).toBe(200);
  expect(await answerOf(run)).toBe('told: look done | pay done');
  expect(callsFor('the rent').map(({ args }) => args)).toEqual([argumentsFor('the rent')]);
  const { steps } = await expectRunState(gateway, run, 'done');
  expect(steps.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
  const kinds = steps.map(({ kind }) => kind);
  expect(kinds.indexOf('decided')).toBeLessThan(kinds.lastIndexOf('called'));
  expect(steps.find(({ kind }) => kind === 'decided')).toMatchObject({
    state: 'approved',
    by: 'an operator',
  });
});

test('a denied call is not made, and the model learns the denial with its reason', async () => {
  const { run, ids } = await startAndWait('a yacht');
  const denied = await decide(ids[0], 'deny', { by: 'ben', comment: 'too dear' });
  expect(denied).toMatchObject({ status: 200, json: { state: 'denied', comment: 'too dear' } });
  const answer = await answerOf(run);
  expect(answer).toMatch(/^told: look done \| .*denied.*ben.*too dear/);
  expect(callsFor('a yacht')).toEqual([]);
  expect(await decide(ids[0], 'approve')).toMatchObject({
    status: 409,
    json: { approval: { state: 'denied' } },
  });
});

test('a call without a decision in time is not made, and the model learns that the approval expired', async () => {
  const { run, ids } = await startAndWait('a boat', 'hasty');
  expect(await answerOf(run)).toMatch(/^told: look done \| .*(expired|in time)/);
  expect(await decide(ids[0], 'approve')).toMatchObject({
    status: 409,
    json: { approval: { state: 'expired', via: 'timer' } },
  });
  expect(callsFor('a boat')).toEqual([]);
});

test('two calls of the same model answer are decided separately, and the run continues after both decisions', async () => {
  const { run, ids } = await startAndWait('both');
  expect(ids).toHaveLength(2);
  expect((await decide(ids[1], 'deny')).status).toBe(200);
  await eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(run)}`);
    expect(json.steps.filter(({ kind }: { readonly kind: string }) => kind === 'decided')).toHaveLength(1);
    expect(json).toMatchObject({ state: 'waiting', waiting_for: 'approval' });
  });
  expect(callsFor('both')).toEqual([]);
  expect((await decide(ids[0], 'approve')).status).toBe(200);
  expect(await answerOf(run)).toMatch(/^told: pay done \| .*denied/);
  expect(callsFor('both').map(({ args }) => args)).toEqual([argumentsFor('both')]);
});

describe('approvers', () => {
  test('who decide at the same time: the first decision counts, and the others get 409 with its result', async () => {
    const { run, ids } = await startAndWait('a race');
    const verbs = ['approve', 'deny', 'approve', 'deny'] as const;
    const all = await Promise.all(verbs.map((verb) => decide(ids[0], verb)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const first = all.find(({ status }) => status === 200)?.json;
    for (const { status, json } of all)
      if (status === 409) expect(json.approval).toMatchObject({ id: ids[0], state: first.state });
    const isPaid = first.state === 'approved';
    expect(await answerOf(run)).toMatch(isPaid ? /\| pay done$/ : /\| .*denied/);
    expect(callsFor('a race')).toHaveLength(isPaid ? 1 : 0);
    const lines = gateway.logs().filter(({ msg }) => msg === 'approval decided');
    expect(lines.filter(({ approval }) => approval === ids[0])).toHaveLength(1);
  });

  test('are only the named persons, not the requester', async () => {
    const { run, ids } = await startAndWait('her own', 'clerk', 'ada');
    const stranger = await decide(ids[0], 'approve', { by: 'mallory' });
    expect(stranger).toMatchObject({ status: 403, json: { approval: { id: ids[0], state: 'pending' } } });
    for (const by of ['ada', '@ada', 'ADA'])
      expect([by, (await decide(ids[0], 'approve', { by })).status]).toEqual([by, 403]);
    expect(callsFor('her own')).toEqual([]);
    const approved = await decide(ids[0], 'approve', { by: 'ben' });
    expect(approved).toMatchObject({ status: 200, json: { decided_by: 'ben', operator: 'operator:token' } });
    expect(await answerOf(run)).toMatch(/pay done$/);
    expect(callsFor('her own')).toHaveLength(1);
  });

  test('include the requester if self-approval is configured', async () => {
    const { run, ids } = await startAndWait('by herself', 'owner', 'ada');
    expect((await decide(ids[0], 'approve', { by: 'ada' })).status).toBe(200);
    expect(await answerOf(run)).toMatch(/pay done$/);
    expect(callsFor('by herself')).toHaveLength(1);
  });
});

test('cancelling a run that waits for approval also cancels the request: its call can no longer be approved', async () => {
  const { run, ids } = await startAndWait('nothing');
  expect((await post(`/runs/${encodeURIComponent(run)}/cancel`)).status).toBe(200);
  expect(await decide(ids[0], 'approve')).toMatchObject({
    status: 409,
    json: { approval: { state: 'cancelled' } },
  });
  expect(callsFor('nothing')).toEqual([]);
});

test('agent runs with approvals log no error, and each approved tool call has its own idempotency key', () => {
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  const keys = reportedCalls.calls.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
});
