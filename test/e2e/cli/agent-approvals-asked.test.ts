// What an agent asks people before it calls a tool, in the terminal: in a conversation, by lines, and with the commands for approvals.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  answersSoFar,
  MODEL,
  runIs,
  startModelGateway,
  toldMessages,
  toldResults,
} from '../../fixtures/agents/model-gateway.ts';
import { ReportedCalls } from '../../fixtures/agents/reported-calls.ts';
import { agent } from '../../fixtures/automation/automation.ts';
import { ask, eventually } from '../../fixtures/clients/api-client.ts';
import { Terminal } from '../../fixtures/clients/terminal.ts';
import { type GatewayProcess, temporaryFolder } from '../../fixtures/gateway/gateway-process.ts';
import { type Run, runMain } from '../../fixtures/gateway/run-main.ts';
import { ModelServer } from '../../fixtures/models/model-server.ts';

/** A terminal obeys nothing of it. */
const payFor = (words: string) => ({ name: 'pay', input: argumentsFor(words) });

const argumentsFor = (words: string) => ({
  ...{ for: words, amount: 12.5, note: '\u001b]0;owned\u0007' },
  unseen: 'a\u202eb\u200bc',
});

let model: ModelServer;
let desk: ReportedCalls;
let gateway: GatewayProcess;
let clerk: ReturnType<typeof agent>;

beforeAll(async () => {
  desk = await ReportedCalls.start();
  model = (await ModelServer.start()).answerWith((request) => {
    const words = toldMessages(request).findLast(({ role }) => role === 'user')?.content ?? '';
    if (answersSoFar(request) > 0) return { text: `told of ${words}: ${toldResults(request).join()}` };
    if (words === 'both') return { calls: ['this', 'that'].map((each) => payFor(each)) };
    return { calls: [payFor(words)] };
  });
  clerk = agent('clerk', {
    ...{ model: MODEL, mcp_servers: [desk.entry('desk')] },
    policy: { ask: ['pay'], approvers: ['ada', 'ben'] },
  });
  gateway = await startModelGateway(model, { resources: [clerk] });
});

afterAll(async () => {
  desk[Symbol.dispose]();
});

const env = { GATEWAY_API_KEY: '' };
const run = (...args: readonly string[]) => runMain([...args, '--url', gateway.url], { env });
const madeFor = (words: string) => desk.calls.filter(({ args }) => args.for === words);

test('a conversation in a terminal asks there, with the exact arguments, and y and n are heard', async () => {
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
    const shown = terminal.text.slice(terminal.text.lastIndexOf('It asks for approval: desk/pay'));
    expect(shown).toContain(`"for": "${words}"`);
    expect(shown).toContain('"amount": 12.5');
    expect(shown).toContain('"unseen": "a\\u202eb\\u200bc"');
    expect(shown).not.toContain('␛]0;');
    expect(madeFor(words)).toEqual([]);
    terminal.type(`${said}\r`);
    await eventually(`the answer about ${words}`, () => told.test(terminal.text));
    expect(madeFor(words).map(({ args }) => args)).toEqual(said === 'y' ? [argumentsFor(words)] : []);
  }
  terminal.type('/exit\r');
  await eventually('the end', () => terminal.text.includes('ENDED 0'));
});

test('a question that is decided elsewhere is withdrawn, and a key that comes late answers nothing', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  const shows = (what: RegExp) => eventually(String(what), () => what.test(terminal.text));
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
  await shows(/> /);
  terminal.type('both\r');
  await shows(/"for": "[\s\S]*Approve\? /);
  const [, shown = ''] = /"for": "(\w+)"/.exec(terminal.text) ?? [];
  const other = shown === 'this' ? 'that' : 'this';
  terminal.type('ye');
  const first = (await pending()).find(({ tool }) => tool.arguments.for === shown);
  await decide(first?.id, 'deny', { by: 'ben' });
  await shows(/desk\/pay is denied by ben[\s\S]*"for": "[\s\S]*Approve\? /);
  terminal.type('s\r');
  await shows(/not taken[\s\S]*Approve\? /);
  expect((await pending()).map(({ tool }) => tool.arguments.for)).toEqual([other]);
  await decide((await pending())[0]?.id, 'approve', {});
  await shows(/desk\/pay is approved by an operator/);
  terminal.type('y\r');
  await shows(/not taken[\s\S]*not taken/);
  await shows(/told of both: /);
  expect([madeFor(shown), madeFor(other).length]).toEqual([[], 1]);
  const words = model.requests.flatMap((request) => toldMessages(request).map(({ content }) => content));
  expect(words).not.toContain('y');
  terminal.type('\u0004');
  await shows(/ENDED 0/);
});

test('TYL1: what is being typed when it asks is no answer, and is there again afterwards', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  const shows = (what: RegExp) => eventually(String(what), () => what.test(terminal.text));
  await shows(/> /);
  terminal.type('tree\rand another');
  await shows(/"for": "tree"[\s\S]*Approve\? /);
  // It may be meant for the words.
  terminal.type('\r');
  await shows(/not taken[\s\S]*Approve\? /);
  const { approvals } = (await ask(`${gateway.url}/approvals?state=pending`)).json;
  expect(approvals.map(({ tool }: { tool: { arguments: object } }) => tool.arguments)).toEqual([
    argumentsFor('tree'),
  ]);
  await ask(`${gateway.url}/approvals/${approvals[0].id}/deny`, { method: 'POST' });
  await shows(/told of tree: [\s\S]*> [^\n]*and another/);
  // A late key takes nothing away from it.
  terminal.type('y\r');
  await shows(/not taken[\s\S]*not taken[\s\S]*> [^\n]*and another$/);
  expect(madeFor('and anothery')).toEqual([]);
  terminal.type('\u0003');
  await shows(/ENDED 0/);
});

test('TYL2: a second question stays below what is told of the first, with what was typed of its answer', async () => {
  const terminal = new Terminal(['agents', 'chat', 'clerk', '--url', gateway.url], { env });
  const shows = (what: RegExp) => eventually(String(what), () => what.test(terminal.text));
  await shows(/> /);
  terminal.type('both\r');
  await shows(/"for": "[\s\S]*Approve\? /);
  terminal.type('y\r');
  await shows(/"for": "[\s\S]*"for": "[\s\S]*pay: done in [^\n]*\n[^\n]*Approve\? \[y\/N\] [^\n]*$/);
  terminal.type('n');
  const { approvals } = (await ask(`${gateway.url}/approvals?state=pending`)).json;
  expect(approvals.length).toBe(1);
  // The window is closed before it is answered.
  terminal.type('\u0004\u0015\u0004');
  await shows(/ENDED 0/);
  expect(terminal.text).toContain(
    `it waits for approval of desk/pay: "approvals approve ${approvals[0].id}"`,
  );
  await ask(`${gateway.url}/approvals/${approvals[0].id}/deny`, { method: 'POST' });
});

/** Of what was said on stderr: the approval, by the command line that it shows. */
const approvalIn = ({ stderr }: Run) => /"approvals approve ([0-9a-f-]{36})"/.exec(stderr)?.[1] ?? '';

describe('where nobody is there to ask', () => {
  test('run agent ends with 3 and says what is to be run, which then works', async () => {
    const asked = await run('agents', 'run', 'clerk', '--input', 'tax', '--user', 'ada');
    expect([asked.code, asked.stdout]).toEqual([3, '']);
    expect(asked.stderr).toContain('it waits for approval of desk/pay: ');
    const id = approvalIn(asked);
    const [list, page, ...refused] = await Promise.all([
      run('approvals', '--state', 'pending'),
      run('approvals', 'show', id),
      // Neither who asked nor a stranger.
      run('approvals', 'approve', id, '--as', 'ada'),
      run('approvals', 'approve', id, '--as', 'mallory'),
    ]);
    expect(refused).toEqual(refused.map(() => expect.objectContaining({ code: 1, stdout: '' })));
    expect(list.stdout).toMatch(new RegExp(`pending +tool +ada +- +${id} +desk/pay`));
    expect(page.stdout).toContain('"amount": 12.5');
    expect(page.stdout).toContain('"unseen": "a\\u202eb\\u200bc"');
    expect(page.stdout).not.toContain('\u001b');
    expect(page.stdout).toMatch(/^approvers +ada, ben$/m);
    expect(madeFor('tax')).toEqual([]);
    expect(await run('approvals', 'approve', id)).toMatchObject({ code: 0, stdout: `${id} is approved\n` });
    const [, runId = ''] = /"runs show (\S+)"/.exec(asked.stderr) ?? [];
    expect(await runIs(gateway, runId, 'done')).toMatchObject({ answer: 'told of tax: pay done' });
    expect(madeFor('tax').map(({ args }) => args)).toEqual([argumentsFor('tax')]);
    const late = await run('approvals', 'deny', id);
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('approved')]);
  });

  test('as JSON it is told too, and what is denied with a comment is told to the model', async () => {
    const asked = await run('agents', 'run', 'clerk', '--input', 'fine', '--json');
    expect(asked.code).toBe(3);
    const { id: runId, state, approvals } = JSON.parse(asked.stdout);
    expect({ state, approvals }).toEqual({ state: 'waiting', approvals: [approvalIn(asked)] });
    const denied = await run(
      ...['approvals', 'deny', approvals[0], '--as', '@ben', '--comment', 'we contest it', '--json'],
    );
    expect(JSON.parse(denied.stdout)).toMatchObject({
      ...{ id: approvals[0], run: runId, state: 'denied', decided_by: '@ben', comment: 'we contest it' },
      tool: { server: 'desk', tool: 'pay', arguments: argumentsFor('fine') },
    });
    expect((await runIs(gateway, runId, 'done')).answer).toMatch(/told of fine: .*we contest it/);
    expect(madeFor('fine')).toEqual([]);
  });

  test('a conversation by lines ends with 3 and says so, too', async () => {
    const said = await runMain(['agents', 'chat', 'clerk', '--url', gateway.url], {
      env,
      input: 'fee\nnever asked\n',
    });
    expect([said.code, said.stdout]).toEqual([3, '']);
    expect((await run('approvals', 'approve', approvalIn(said))).code).toBe(0);
    await eventually('the call', () => madeFor('fee').length === 1);
    expect(madeFor('never asked')).toEqual([]);
  });

  test('with files alone the run ends with the command, and nobody is told of a way to approve', async () => {
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
    const said = await runMain(['agents', 'run', 'clerk', '--input', 'gone', ...args], {
      env: { ...env, KEY_OF_MODEL: 'k' },
    });
    expect([said.code, said.stdout]).toEqual([3, '']);
    expect(said.stderr).toMatch(
      /it waits for approval of desk\/pay, and ends with this command.*"agents chat clerk"/,
    );
    expect(said.stderr).not.toContain('approvals approve');
    expect(said.stderr).not.toContain('the run goes on');
    expect(madeFor('gone')).toEqual([]);
  });
});
