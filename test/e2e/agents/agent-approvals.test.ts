// An agent that has to ask before it calls a tool with effects, in the program as it is shipped and with a real server that reports
// each call: nothing is called before somebody has said so, and then exactly what was asked, once.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  type RunRecord,
  runIs,
  startModelGateway,
  toldMessages,
  toldResults,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, eventually } from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

/** What the model wants paid for that; a string that is not ASCII is approved as it is. */
const argumentsFor = (words: string) => ({ for: words, amount: 12.5, to: ['Zoë', { iban: 'DE02 1203' }] });

let model: ModelServer;
let desk: ReportedCalls;
let gateway: GatewayProcess;

beforeAll(async () => {
  desk = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    if (words === 'hello') return { text: 'Hello.' };
    if (answersSoFar(request) > 0) return { text: `told: ${toldResults(request).join(' | ')}` };
    const input = argumentsFor(words);
    const pay = { name: 'pay', input };
    if (words === 'both') return { calls: [pay, { name: 'pay', input: { ...input, amount: 99 } }] };
    return { calls: [{ name: 'look', input: { for: words } }, pay] };
  });
  const clerk = (name: string, policy: object) =>
    agent(name, { model: MODEL, mcp_servers: [desk.entry('desk')], policy: { ask: ['pay'], ...policy } });
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
  desk[Symbol.dispose]();
});

const post = (path: string, body: object = {}) =>
  ask(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

interface Asked {
  readonly run: string;
  /** Of its approvals, in the order of the calls. */
  readonly ids: readonly string[];
}

const sessionOf = (words: string) => words.replaceAll(' ', '-');

/** Until the run waits. */
async function asked(input: string, name = 'clerk', user = 'mia'): Promise<Asked> {
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
const madeFor = (words: string, tool = 'pay') =>
  desk.calls.filter((call) => call.tool === tool && call.args.for === words);
const answerOf = async (run: string) => (await runIs(gateway, run, 'done')).answer;

test('a call that must be approved is made after that, once and exactly as it was asked; the run waits in nobody’s way', async () => {
  const { run, ids } = await asked('the rent');
  expect(ids).toHaveLength(1);
  // What needs no word of anybody was called at once.
  expect(madeFor('the rent', 'look')).toHaveLength(1);
  const waiting = (await ask(`${gateway.url}/runs?state=waiting&agent=clerk`)).json.runs;
  expect(waiting).toContainEqual(expect.objectContaining({ id: run, waiting_for: 'approval' }));
  const delivery = (await ask(`${gateway.url}/deliveries/${encodeURIComponent(run)}`)).json;
  expect(delivery).toMatchObject({ state: 'waiting', attempts: 0 });
  expect(await ask(`${gateway.url}/approvals/${ids[0]}`)).toMatchObject({
    json: {
      ...{ run, kind: 'tool', title: 'desk/pay', state: 'pending', approvers: ['ada', '@ben'] },
      tool: { server: 'desk', tool: 'pay', arguments: argumentsFor('the rent') },
      requested_by: { platform: 'manual', user: 'mia' },
    },
  });
  // In the same conversation.
  const meanwhile = await post('/agents/clerk/runs', {
    input: 'hello',
    session: sessionOf('the rent'),
    wait_seconds: 20,
  });
  expect(meanwhile.json).toMatchObject({ state: 'done', answer: 'Hello.' });
  expect(madeFor('the rent')).toEqual([]);
  expect((await decide(ids[0], 'approve')).status).toBe(200);
  expect(await answerOf(run)).toBe('told: look done | pay done');
  expect(madeFor('the rent').map(({ args }) => args)).toEqual([argumentsFor('the rent')]);
  const { steps } = await runIs(gateway, run, 'done');
  expect(steps.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
  const kinds = steps.map(({ kind }) => kind);
  expect(kinds.indexOf('decided')).toBeLessThan(kinds.lastIndexOf('called'));
  expect(steps.find(({ kind }) => kind === 'decided')).toMatchObject({
    state: 'approved',
    by: 'an operator',
  });
});

test('what is denied is not called, and the model is told by whom and why', async () => {
  const { run, ids } = await asked('a yacht');
  const denied = await decide(ids[0], 'deny', { by: 'ben', comment: 'too dear' });
  expect(denied).toMatchObject({ status: 200, json: { state: 'denied', comment: 'too dear' } });
  const answer = await answerOf(run);
  expect(answer).toMatch(/^told: look done \| .*denied.*ben.*too dear/);
  expect(madeFor('a yacht')).toEqual([]);
  expect(await decide(ids[0], 'approve')).toMatchObject({
    status: 409,
    json: { approval: { state: 'denied' } },
  });
});

test('what nobody decides about in time is not called, and the model is told', async () => {
  const { run, ids } = await asked('a boat', 'hasty');
  expect(await answerOf(run)).toMatch(/^told: look done \| .*(expired|in time)/);
  expect(await decide(ids[0], 'approve')).toMatchObject({
    ...{ status: 409, json: { approval: { state: 'expired', via: 'timer' } } },
  });
  expect(madeFor('a boat')).toEqual([]);
});

test('of two calls in one answer each is decided by itself, and the run goes on when both are', async () => {
  const { run, ids } = await asked('both');
  expect(ids).toHaveLength(2);
  expect((await decide(ids[1], 'deny')).status).toBe(200);
  await eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(run)}`);
    expect(json.steps.filter(({ kind }: { readonly kind: string }) => kind === 'decided')).toHaveLength(1);
    expect(json).toMatchObject({ state: 'waiting', waiting_for: 'approval' });
  });
  expect(madeFor('both')).toEqual([]);
  expect((await decide(ids[0], 'approve')).status).toBe(200);
  expect(await answerOf(run)).toMatch(/^told: pay done \| .*denied/);
  expect(madeFor('both').map(({ args }) => args)).toEqual([argumentsFor('both')]);
});

describe('who decides', () => {
  test('is the first of those who come at once, and the others are told how it stands', async () => {
    const { run, ids } = await asked('a race');
    const verbs = ['approve', 'deny', 'approve', 'deny'] as const;
    const all = await Promise.all(verbs.map((verb) => decide(ids[0], verb)));
    expect(all.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const first = all.find(({ status }) => status === 200)?.json;
    for (const { status, json } of all)
      if (status === 409) expect(json.approval).toMatchObject({ id: ids[0], state: first.state });
    const isPaid = first.state === 'approved';
    expect(await answerOf(run)).toMatch(isPaid ? /\| pay done$/ : /\| .*denied/);
    expect(madeFor('a race')).toHaveLength(isPaid ? 1 : 0);
    const lines = gateway.logs().filter(({ msg }) => msg === 'an approval is decided');
    expect(lines.filter(({ approval }) => approval === ids[0])).toHaveLength(1);
  });

  test('is nobody but those who are named, and not whoever asked', async () => {
    const { run, ids } = await asked('her own', 'clerk', 'ada');
    const stranger = await decide(ids[0], 'approve', { by: 'mallory' });
    expect(stranger).toMatchObject({ status: 403, json: { approval: { id: ids[0], state: 'pending' } } });
    for (const by of ['ada', '@ada', 'ADA'])
      expect([by, (await decide(ids[0], 'approve', { by })).status]).toEqual([by, 403]);
    expect(madeFor('her own')).toEqual([]);
    const approved = await decide(ids[0], 'approve', { by: 'ben' });
    expect(approved).toMatchObject({ status: 200, json: { decided_by: 'ben', operator: 'operator:token' } });
    expect(await answerOf(run)).toMatch(/pay done$/);
    expect(madeFor('her own')).toHaveLength(1);
  });

  test('may be whoever asked where the file says so', async () => {
    const { run, ids } = await asked('by herself', 'owner', 'ada');
    expect((await decide(ids[0], 'approve', { by: 'ada' })).status).toBe(200);
    expect(await answerOf(run)).toMatch(/pay done$/);
    expect(madeFor('by herself')).toHaveLength(1);
  });
});

test('a run that is cancelled while it waits has nothing approved any more', async () => {
  const { run, ids } = await asked('nothing');
  expect((await post(`/runs/${encodeURIComponent(run)}/cancel`)).status).toBe(200);
  expect(await decide(ids[0], 'approve')).toMatchObject({
    ...{ status: 409, json: { approval: { state: 'cancelled' } } },
  });
  expect(madeFor('nothing')).toEqual([]);
});

test('nothing went wrong, and each call had a key of its own', () => {
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
  const keys = desk.calls.map(({ key }) => key);
  expect(new Set(keys).size).toBe(keys.length);
});
