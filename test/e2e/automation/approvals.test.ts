// Approval of commands with the built program: over HTTP, from the terminal, and across kills.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AgentProgram,
  type AgentRequest,
  eventually,
  httpAgent,
  startAgent,
  startAutomation,
  trigger,
} from '../../fixtures/automation/automation.ts';
import { ask } from '../../fixtures/clients/api-client.ts';
import type { GatewayProcess } from '../../fixtures/gateway/gateway-process.ts';
import { runMain } from '../../fixtures/gateway/run-main.ts';

let program: AgentProgram;
let gateway: GatewayProcess;

beforeAll(async () => {
  program = await startAgent(({ body }) => ({ text: `did ${inputOf(body)}` }));
  const approval = { agent: 'deployer', requires_approval: true, approvers: ['ben', '@carl'] };
  gateway = await startAutomation({
    resources: [
      trigger('ops', {
        type: 'Manual',
        config: {},
        commands: { deploy: approval, quick: { ...approval, approval_timeout_seconds: 0.05 } },
      }),
      httpAgent('deployer', program.url),
    ],
  });
});

afterAll(async () => {
  await gateway.stop();
});

/** The text after the command. */
const inputOf = ({ input }: AgentRequest['body']) => input.split('\n')[1] ?? '';

const post = (path: string, body: object = {}) =>
  ask(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function runAndWait(text: string): Promise<{ readonly run: string; readonly id: string }> {
  const { json } = await post('/triggers/ops/run', { command: 'deploy', text });
  const run = json.id as string;
  const [approval] = await eventually(async () => {
    const approvals = await approvalsOf(run);
    expect(approvals).toHaveLength(1);
    return approvals;
  });
  return { run, id: approval?.id as string };
}

async function approvalsOf(run: string): Promise<readonly { readonly id: string }[]> {
  const { json } = await ask(`${gateway.url}/approvals?run=${encodeURIComponent(run)}`);
  return json.approvals as readonly { readonly id: string }[];
}

const waitForEnd = (run: string) =>
  eventually(async () => {
    const { json } = await ask(`${gateway.url}/runs/${encodeURIComponent(run)}`);
    expect(json.state).toBe('done');
    return json;
  });

const countRuns = (text: string) => program.requests.filter(({ body }) => inputOf(body) === text).length;

async function restart(): Promise<void> {
  const { folder } = gateway;
  await gateway.stop('SIGKILL');
  gateway = await startAutomation({ folder });
}

describe('an approval over HTTP', () => {
  test('runs the command once after an operator approves', async () => {
    const { run, id } = await runAndWait('one');
    const { json } = await ask(`${gateway.url}/approvals/${id}`);
    expect(json).toMatchObject({
      id,
      run,
      state: 'pending',
      kind: 'command',
      approvers: ['ben', '@carl'],
      via: null,
      command: { name: 'deploy', input: expect.stringContaining('one') as string },
      digest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    const waiting = await ask(`${gateway.url}/runs?state=waiting`);
    expect(JSON.stringify(waiting.json)).toContain(run);
    expect(countRuns('one')).toBe(0);
    const approved = await post(`/approvals/${id}/approve`, { comment: 'go ahead' });
    expect(approved).toMatchObject({
      status: 200,
      json: { state: 'approved', decided_by: 'an operator', via: 'api', comment: 'go ahead' },
    });
    expect(await waitForEnd(run)).toMatchObject({ answer: 'did one', kind: 'command', name: 'deploy' });
    expect(countRuns('one')).toBe(1);
    const secondResponse = await post(`/approvals/${id}/deny`);
    expect(secondResponse).toMatchObject({ status: 409, json: { approval: { id, state: 'approved' } } });
    const lines = gateway.logs().filter(({ msg }) => msg === 'approval decided');
    expect(lines.find((line) => line.approval === id)).toMatchObject({ run, via: 'api', state: 'approved' });
  });

  test('that is decided in the name of a user is checked against the rights of that user', async () => {
    const { run, id } = await runAndWait('two');
    const refusal = await post(`/approvals/${id}/approve`, { by: 'mallory' });
    expect(refusal).toMatchObject({ status: 403, json: { approval: { id, state: 'pending' } } });
    const denied = await post(`/approvals/${id}/deny`, { by: '@ben', comment: 'not now' });
    expect(denied).toMatchObject({ status: 200, json: { state: 'denied', operator: 'operator:token' } });
    await eventually(() => {
      const line = gateway.logs().find(({ msg, approval }) => msg === 'approval decided' && approval === id);
      expect(line).toMatchObject({
        run,
        by: '@ben',
        via: 'api',
        operator: 'operator:token',
        state: 'denied',
      });
    });
    expect(await waitForEnd(run)).toMatchObject({ answer: 'Denied by @ben: not now' });
    expect(countRuns('two')).toBe(0);
  });

  test('is rejected for an unknown id or an invalid decision', async () => {
    const { id } = await runAndWait('three');
    expect((await ask(`${gateway.url}/approvals/nobody`)).status).toBe(404);
    expect((await post('/approvals/nobody/approve')).status).toBe(404);
    for (const body of [
      { by: '' },
      { by: '@' },
      { by: 5 },
      { comment: 'x'.repeat(2_001) },
      { who: 'ben' },
      [],
    ])
      expect([body, (await post(`/approvals/${id}/approve`, body)).status]).toEqual([body, 400]);
    expect((await ask(`${gateway.url}/approvals?state=maybe`)).status).toBe(400);
    for (const query of ['limit=0', 'before=7', 'before=yesterday-x'])
      expect([query, (await ask(`${gateway.url}/approvals?${query}`)).status]).toEqual([query, 400]);
    await post(`/approvals/${id}/deny`);
  });

  test('is listed in pages with a cursor to the next page', async () => {
    for (const text of ['p1', 'p2', 'p3']) await runAndWait(text);
    const whole = (await ask(`${gateway.url}/approvals?state=pending`)).json;
    expect(whole.next_before).toBeNull();
    const ids: string[] = [];
    for (let before = ''; ; ) {
      const { json } = await ask(`${gateway.url}/approvals?state=pending&limit=2${before}`);
      ids.push(...json.approvals.map(({ id }: { readonly id: string }) => id));
      if (json.next_before === null) break;
      before = `&before=${encodeURIComponent(json.next_before)}`;
    }
    expect(ids).toEqual(whole.approvals.map(({ id }: { readonly id: string }) => id));
    expect(ids).toHaveLength(3);
    for (const id of ids) await post(`/approvals/${id}/deny`);
  });

  test('expires without a decision in time', async () => {
    const { json } = await post('/triggers/ops/run', { command: 'quick', text: 'four' });
    expect(await waitForEnd(json.id as string)).toMatchObject({
      answer: expect.stringContaining('Expired') as string,
    });
    const [approval] = await approvalsOf(json.id as string);
    expect(await post(`/approvals/${approval?.id}/approve`)).toMatchObject({ status: 409 });
    expect(countRuns('four')).toBe(0);
  });
});

describe('an approval from the terminal', () => {
  const run = (...args: readonly string[]) =>
    runMain([...args, '--url', gateway.url], { env: { GATEWAY_API_KEY: '' } });

  test('can be listed, shown and decided', async () => {
    const first = await runAndWait('t1');
    const two = await runAndWait('t2');
    const list = await run('approvals', '--state', 'pending');
    expect(list.stdout).toMatch(new RegExp(`pending +command +.*${first.id} +/deploy t1`));
    const newest = await run('approvals', '--state', 'pending', '--limit', '1');
    const [, before = ''] = /^more: --before (\S+)$/m.exec(newest.stdout) ?? [];
    const older = await run('approvals', '--state', 'pending', '--before', before);
    expect([newest.stdout.includes(two.id), older.stdout.includes(two.id)]).toEqual([true, false]);
    expect(older.stdout).toContain(first.id);
    const page = await run('approvals', 'show', first.id);
    expect(page.stdout).toContain('"input": "deploy\\nt1"');
    expect(await run('approvals', 'approve', first.id, '--as', 'mallory')).toMatchObject({ code: 1 });
    const approved = await run('approvals', 'approve', first.id, '--as', 'ben', '--comment', 'seen');
    expect(approved).toMatchObject({ code: 0, stdout: `${first.id} is approved\n` });
    const denied = await run('approvals', 'deny', two.id, '--json');
    expect(JSON.parse(denied.stdout)).toMatchObject({ state: 'denied', decided_by: 'an operator' });
    expect((await waitForEnd(first.run)).answer).toBe('did t1');
    expect((await run('approvals', '--state', 'maybe')).code).toBe(2);
  });
});

test('an approval survives a kill of the gateway before or after the decision, and no call is lost or made twice', async () => {
  const questions = await Promise.all(['k1', 'k2', 'k3', 'k4'].map(runAndWait));
  await restart();
  const [first, second, third, fourth] = questions;
  for (const { id } of questions)
    expect((await ask(`${gateway.url}/approvals/${id}`)).json).toMatchObject({ state: 'pending' });
  await post(`/approvals/${first?.id}/approve`);
  await post(`/approvals/${second?.id}/deny`);
  await post(`/approvals/${third?.id}/approve`);
  await restart();
  await post(`/approvals/${fourth?.id}/approve`);
  const answers = await Promise.all(questions.map(async ({ run }) => (await waitForEnd(run)).answer));
  expect(answers).toEqual(
    ['did k1', 'Denied by an operator', 'did k3', 'did k4'].map(
      (text) => expect.stringContaining(text) as string,
    ),
  );
  const keys = new Map<string, Set<unknown>>();
  for (const { headers, body } of program.requests) {
    const text = inputOf(body);
    keys.set(text, (keys.get(text) ?? new Set()).add(headers['idempotency-key']));
  }
  // An attempt interrupted by a kill may be repeated with the same key.
  for (const text of ['k1', 'k3', 'k4']) expect(keys.get(text)?.size).toBe(1);
  expect(countRuns('k2')).toBe(0);
  expect(gateway.logs().filter(({ level }) => level === 'error')).toEqual([]);
});
