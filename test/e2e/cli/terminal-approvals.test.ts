// Approvals of tool calls in the terminal: in a chat, line by line, and with the approvals commands.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answersSoFar,
  expectRunState,
  MODEL,
  requestMessages,
  requestToolResults,
  startModelGateway,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent, trigger } from '../../fixtures/automation/automation.ts';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { type Run, runMain } from '../../fixtures/gateway/run-main.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

const payFor = (words: string) => ({ name: 'pay', input: argumentsFor(words) });

/** Contains control characters that terminals must not execute. */
const argumentsFor = (words: string) => ({
  for: words,
  amount: 12.5,
  note: '\u001b]0;owned\u0007',
  unseen: 'a\u202eb\u200bc',
});

let model: ModelServer;
let reportedCalls: ReportedCalls;
let gateway: GatewayProcess;
let clerk: ReturnType<typeof agent>;

beforeAll(async () => {
  reportedCalls = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = requestMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    if (answersSoFar(request) > 0) return { text: `told of ${words}: ${requestToolResults(request).join()}` };
    if (words === 'both') return { calls: ['this', 'that'].map((each) => payFor(each)) };
    return { calls: [payFor(words)] };
  });
  clerk = agent('clerk', {
    model: MODEL,
    mcp_servers: [reportedCalls.entry('desk')],
    policy: { ask: ['pay'], approvers: ['ada', 'ben'] },
  });
  const counter = trigger('counter', { type: 'Manual', config: {}, default_agent: 'clerk' });
  gateway = await startModelGateway(model, { resources: [clerk, counter] });
});

afterAll(async () => {
  reportedCalls[Symbol.dispose]();
});

const env = { GATEWAY_API_KEY: '' };
const run = (...args: readonly string[]) => runMain([...args, '--url', gateway.url], { env });
const callsFor = (words: string) => reportedCalls.calls.filter(({ args }) => args.for === words);

test('a chat in a terminal shows the exact arguments and accepts y and n', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  await eventually('the prompt', () => terminal.text.includes('> '));
  const questions = () => terminal.text.split('Approve? [y/N] ').length - 1;
  for (const [n, [words, said, told]] of [
    ['rent', 'y', /told of rent: pay done/],
    ['yacht', 'n', /told of yacht: .*denied/],
    ['boat', '', /told of boat: .*denied/],
  ].entries() as Iterable<[number, [string, string, RegExp]]>) {
    terminal.type(`${words}\r`);
    await eventually(`the question about ${words}`, () => questions() > n);
    const question = terminal.text.slice(terminal.text.lastIndexOf('Approval required: desk/pay'));
    expect(question).toContain(`"for": "${words}"`);
    expect(question).toContain('"amount": 12.5');
    expect(question).toContain('"unseen": "a\\u202eb\\u200bc"');
    // `Terminal` records the escape character as `␛`.
    expect(question).not.toContain('␛]0;');
    expect(callsFor(words)).toEqual([]);
    terminal.type(`${said}\r`);
    await eventually(`the answer about ${words}`, () => told.test(terminal.text));
    expect(callsFor(words).map(({ args }) => args)).toEqual(said === 'y' ? [argumentsFor(words)] : []);
  }
  terminal.type('/exit\r');
  await eventually('the end', () => terminal.text.includes('ENDED 0'));
});

test('a question that another client has decided is withdrawn, and a late key press has no effect', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  const waitForText = (pattern: RegExp) => eventually(String(pattern), () => pattern.test(terminal.text));
  const pending = async () =>
    (await ask(`${gateway.url}/approvals?state=pending`)).json.approvals as {
      readonly id: string;
      readonly tool: { readonly arguments: { readonly for: string } };
    }[];
  const decide = (id: string | undefined, verb: string, body: object) =>
    ask(`${gateway.url}/approvals/${id}/${verb}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await waitForText(/> /);
  terminal.type('both\r');
  await waitForText(/"for": "[\s\S]*Approve\? /);
  const [, shown = ''] = /"for": "(\w+)"/.exec(terminal.text) ?? [];
  const other = shown === 'this' ? 'that' : 'this';
  terminal.type('ye');
  const first = (await pending()).find(({ tool }) => tool.arguments.for === shown);
  await decide(first?.id, 'deny', { by: 'ben' });
  await waitForText(/desk\/pay is denied by ben[\s\S]*"for": "[\s\S]*Approve\? /);
  terminal.type('s\r');
  await waitForText(/ignored[\s\S]*Approve\? /);
  expect((await pending()).map(({ tool }) => tool.arguments.for)).toEqual([other]);
  await decide((await pending())[0]?.id, 'approve', {});
  await waitForText(/desk\/pay is approved by an operator/);
  terminal.type('y\r');
  await waitForText(/ignored[\s\S]*ignored/);
  await waitForText(/told of both: /);
  expect([callsFor(shown), callsFor(other).length]).toEqual([[], 1]);
  const words = model.requests.flatMap((request) => requestMessages(request).map(({ content }) => content));
  expect(words).not.toContain('y');
  terminal.type('\u0004');
  await waitForText(/ENDED 0/);
});

test('text typed before a question does not answer it, and is restored afterwards', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  const waitForText = (pattern: RegExp) => eventually(String(pattern), () => pattern.test(terminal.text));
  await waitForText(/> /);
  terminal.type('tree\rand another');
  await waitForText(/"for": "tree"[\s\S]*Approve\? /);
  // The key press may belong to the typed text.
  terminal.type('\r');
  await waitForText(/ignored[\s\S]*Approve\? /);
  const { approvals } = (await ask(`${gateway.url}/approvals?state=pending`)).json;
  expect(approvals.map(({ tool }: { tool: { arguments: object } }) => tool.arguments)).toEqual([
    argumentsFor('tree'),
  ]);
  await ask(`${gateway.url}/approvals/${approvals[0].id}/deny`, { method: 'POST' });
  await waitForText(/told of tree: [\s\S]*> [^\n]*and another/);
  // A late key press does not change the text.
  terminal.type('y\r');
  await waitForText(/ignored[\s\S]*ignored[\s\S]*> [^\n]*and another$/);
  expect(callsFor('and anothery')).toEqual([]);
  terminal.type('\u0003');
  await waitForText(/ENDED 0/);
});

test('a second question stays below the result of the first call, with the keys that were already typed', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  const waitForText = (pattern: RegExp) => eventually(String(pattern), () => pattern.test(terminal.text));
  await waitForText(/> /);
  terminal.type('both\r');
  await waitForText(/"for": "[\s\S]*Approve\? /);
  terminal.type('y\r');
  await waitForText(/"for": "[\s\S]*"for": "[\s\S]*pay: done in [^\n]*\n[^\n]*Approve\? \[y\/N\] [^\n]*$/);
  terminal.type('n');
  const { approvals } = (await ask(`${gateway.url}/approvals?state=pending`)).json;
  expect(approvals.length).toBe(1);
  // The user closes the chat before an answer. Ctrl-D has no effect after the typed `n`; Ctrl-U clears the
  // line, and then Ctrl-D closes the chat.
  terminal.type('\u0004\u0015\u0004');
  await waitForText(/ENDED 0/);
  expect(terminal.text).toContain(`waiting for approval of desk/pay: "approvals approve ${approvals[0].id}"`);
  await ask(`${gateway.url}/approvals/${approvals[0].id}/deny`, { method: 'POST' });
});

/** Approval id in the command line shown on stderr. */
const approvalIn = ({ stderr }: Run) => /"approvals approve ([0-9a-f-]{36})"/.exec(stderr)?.[1] ?? '';

describe('without a terminal', () => {
  test('run agent exits with code 3 and shows the approval command, which then works', async () => {
    const agentRun = await run('agents', 'run', 'clerk', '--input', 'tax', '--user', 'ada');
    expect([agentRun.code, agentRun.stdout]).toEqual([3, '']);
    expect(agentRun.stderr).toContain('waiting for approval of desk/pay: ');
    const id = approvalIn(agentRun);
    const [list, page, ...refused] = await Promise.all([
      run('approvals', '--state', 'pending'),
      run('approvals', 'show', id),
      // The requester and strangers may not decide.
      run('approvals', 'approve', id, '--as', 'ada'),
      run('approvals', 'approve', id, '--as', 'mallory'),
    ]);
    expect(refused).toEqual(refused.map(() => expect.objectContaining({ code: 1, stdout: '' })));
    expect(list.stdout).toMatch(new RegExp(`pending +tool +ada +- +${id} +desk/pay`));
    expect(page.stdout).toContain('"amount": 12.5');
    expect(page.stdout).toContain('"unseen": "a\\u202eb\\u200bc"');
    expect(page.stdout).not.toContain('\u001b');
    expect(page.stdout).toMatch(/^approvers +ada, ben$/m);
    expect(callsFor('tax')).toEqual([]);
    expect(await run('approvals', 'approve', id)).toMatchObject({ code: 0, stdout: `${id} is approved\n` });
    const [, runId = ''] = /"runs show (\S+)"/.exec(agentRun.stderr) ?? [];
    expect(await expectRunState(gateway, runId, 'done')).toMatchObject({ answer: 'told of tax: pay done' });
    expect(callsFor('tax').map(({ args }) => args)).toEqual([argumentsFor('tax')]);
    const late = await run('approvals', 'deny', id);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('approved')]);
  });

  test('a waiting delivery is shown with the id of its approval, which the commands accept', async () => {
    const triggered = await run('triggers', 'run', 'counter', '--text', 'toll');
    expect(triggered.stdout).toMatch(/^manual:\S+ waits for approval [0-9a-f-]{36}, until \S+; /);
    const [, delivery = '', id = ''] = /^(\S+) waits for approval (\S+),/.exec(triggered.stdout) ?? [];
    expect(triggered.stdout).toContain(`\n"approvals approve ${id}" or "approvals deny ${id}" decides\n`);
    const shown = await Promise.all([
      run('deliveries', '--state', 'waiting'),
      run('deliveries', 'show', delivery),
      run('top', '--once'),
    ]);
    for (const { stdout } of shown) expect(stdout).toContain(`approval ${id}, until `);
    expect(await run('approvals', 'deny', id)).toMatchObject({ code: 0, stdout: `${id} is denied\n` });
    await eventually('the end', async () => !(await run('top', '--once')).stdout.includes(id));
  });

  test('the approval is part of the JSON output, and the model receives the comment of a denial', async () => {
    const agentRun = await run('agents', 'run', 'clerk', '--input', 'fine', '--json');
    expect(agentRun.code).toBe(3);
    const { id: runId, state, approvals } = JSON.parse(agentRun.stdout);
    expect({ state, approvals }).toEqual({ state: 'waiting', approvals: [approvalIn(agentRun)] });
    const denied = await run(
      ...['approvals', 'deny', approvals[0], '--as', '@ben', '--comment', 'we contest it', '--json'],
    );
    expect(JSON.parse(denied.stdout)).toMatchObject({
      id: approvals[0],
      run: runId,
      state: 'denied',
      decided_by: '@ben',
      comment: 'we contest it',
      tool: { server: 'desk', tool: 'pay', arguments: argumentsFor('fine') },
    });
    expect((await expectRunState(gateway, runId, 'done')).answer).toMatch(/told of fine: .*we contest it/);
    expect(callsFor('fine')).toEqual([]);
  });

  test('a line-by-line chat exits with code 3 and the approval id, and sends no further line', async () => {
    const chat = await runMain(['agents', 'chat', 'clerk', '--url', gateway.url], {
      env,
      input: 'fee\nnever asked\n',
    });
    expect([chat.code, chat.stdout]).toEqual([3, '']);
    expect((await run('approvals', 'approve', approvalIn(chat))).code).toBe(0);
    await eventually('the call', () => callsFor('fee').length === 1);
    expect(callsFor('never asked')).toEqual([]);
  });

  test('a run with `-f` that needs an approval stops with the command, and suggests no approval command', async () => {
    const folder = temporaryFolder();
    writeFileSync(
      join(folder, 'clerk.yaml'),
      JSON.stringify({
        apiVersion: 'example.com/v1',
        kind: 'Agent',
        metadata: { name: 'clerk' },
        spec: clerk.spec,
      }),
    );
    const args = ['--config', join(gateway.folder, 'gateway.yaml'), '-f', join(folder, 'clerk.yaml')];
    const agentRun = await runMain(['agents', 'run', 'clerk', '--input', 'gone', ...args], {
      env: { ...env, KEY_OF_MODEL: 'k' },
    });
    expect([agentRun.code, agentRun.stdout]).toEqual([3, '']);
    expect(agentRun.stderr).toMatch(
      /waiting for approval of desk\/pay, but this gateway stops with the command.*"agents chat clerk"/,
    );
    expect(agentRun.stderr).not.toContain('approvals approve');
    expect(agentRun.stderr).not.toContain('the run continues');
    expect(callsFor('gone')).toEqual([]);
  });
});
